#!/bin/bash
# What only ssh can do is done by the real ssh, with the same words; and never do we take ourselves for it.
. "$(dirname "$0")/lib.sh"
e2e_start

step "-V, -G, -Q"
same "-V" "$(ssh -V 2>&1)" "$("$SHIM" -V 2>&1)"
same "-G" "$(real_ssh -G -p 77 someone@far)" "$(shim -G -p 77 someone@far)"
same "-Q" "$(ssh -Q cipher)" "$("$SHIM" -Q cipher)"
same "our -c does not reach it" "$(real_ssh -G far)" "$(shim -c 8 --memory 64M -G far)"

step "a terminal"
status 0 shim -tt far 'tty; exit 0' </dev/null
grep -q '^/dev/pts/' "$dir/out" || fail "no terminal"
status 5 shim -t far 'exit 5' </dev/null

step "what the configuration asks for"
configured() { # LINE: ssh itself runs, and -v says why
  cat "$e2e_config" <(echo "  $1") >"$dir/config"
  status 5 bounded "$SHIM" -v -F "$dir/config" far "${2-exit 5}" </dev/null
  err_has "^mcdtp-shim: going on as ssh: "
}
configured "RequestTTY force"
configured "Tunnel yes"
cat "$e2e_config" <(echo "  StdinNull yes") >"$dir/config"
for backend in libssh2 ssh; do
  status 5 bounded "$SHIM" -v --bootstrap $backend -F "$dir/config" far 'cat; exit 5' < <(echo word)
  out_is "" && err_has "^mcdtp-shim: backend: $backend\$"
done
cat "$e2e_config" <(echo "  RemoteCommand echo configured") >"$dir/config"
status 0 bounded "$SHIM" -T -F "$dir/config" far </dev/null
out_is configured

step "what can be read once"
status 5 timeout 60 "$SHIM" -v -F /dev/stdin far 'exit 5' <"$e2e_config"
err_has "^mcdtp-shim: going on as ssh: /dev/stdin is no plain file"
status 5 timeout 60 "$SHIM" -v -F /dev/stdin far 'exit 5' < <(cat "$e2e_config")
err_has "^mcdtp-shim: going on as ssh: /dev/stdin is no plain file"
mkfifo "$dir/pipe"
cat "$e2e_config" >"$dir/pipe" &
status 5 timeout 60 "$SHIM" -v -F "$dir/pipe" far 'exit 5' </dev/null
err_has "^mcdtp-shim: going on as ssh: $dir/pipe is no plain file"
wait $!
for option in -i -o{Identity,Certificate,UserKnownHosts,GlobalKnownHosts}File= -oRevokedHostKeys=; do
  real_ssh $option/dev/stdin far 'exit 5' </dev/null 2>/dev/null
  status $? shim -v $option/dev/stdin far 'exit 5' </dev/null
  err_has "^mcdtp-shim: going on as ssh: /dev/stdin is no plain file"
done
ln -s /dev/null "$dir/null"
status 5 shim -v -oGlobalKnownHostsFile="$dir/null" far 'exit 5' </dev/null
err_has "^mcdtp-shim: backend: libssh2"

step "a line break in an option is no line of the configuration"
for value in $'-oSetEnv=LC_ALL="C\nlocalforward 61005 [127.0.0.1]:9"' $'-oUser="x\nproxycommand none"'; do
  real_ssh "$value" far 'printf %s "$LC_ALL"' >"$dir/wanted" 2>/dev/null </dev/null
  wanted=$?
  status $wanted shim -v "$value" far 'printf %s "$LC_ALL"' </dev/null
  same_file stdout "$dir/wanted" "$dir/out"
  err_has "^mcdtp-shim: going on as ssh: a line break in -o"
done

step "a SHELL that is no program here"
status 5 env SHELL=/nonexistent "$SHIM" -v --bootstrap ssh -F "$e2e_config" far 'exit 5' </dev/null
! grep -q nonexistent "$dir/err" || fail "ssh runs it"

step "-O without a master"
real_ssh -O check -oControlPath="$dir/none" far 2>"$dir/wanted"
status 255 shim -O check -oControlPath="$dir/none" far </dev/null
same_file stderr "$dir/wanted" "$dir/err"

step "a master's connection is used"
start_master "$dir/master"
before=$(logins)
status 4 shim -v -oControlPath="$dir/master" far 'cat; exit 4' < <(echo word)
out_is word
same "log-ins" "$before" "$(logins)"

step "behind it nothing waits for SIGUSR1, by which rsync ends its ssh"
shim_in_background -oControlPath="$dir/master" far "echo runs; exec sleep 1000" </dev/null >"$dir/out" 2>"$dir/err" &
shim=$!
until_true grep -q runs "$dir/out"
kill -USR1 "$shim"
wait "$shim" 2>/dev/null
same "the status" 138 $?
real_ssh -O exit -oControlPath="$dir/master" far 2>/dev/null
nothing_left

step "called ssh, by link and by copy of the name, it never calls itself"
mkdir "$dir/bin" "$dir/hard"
ln -s "$SHIM" "$dir/bin/ssh"
ln "$SHIM" "$dir/hard/ssh" 2>/dev/null || ln -s "$dir/bin/ssh" "$dir/hard/ssh"
export PATH=$dir/bin:$dir/hard:$PATH
status 3 bounded ssh -v -F "$e2e_config" far 'echo out; exit 3' </dev/null
out_is out && err_has "^mcdtp-shim: backend"
same "-V" "$(/usr/bin/ssh -V 2>&1)" "$(bounded ssh -V 2>&1)"
status 255 env PATH="$dir/bin:$dir/hard" "$dir/bin/ssh" -F "$e2e_config" far true </dev/null
err_has "there is none in PATH but mcdtp-shim itself"
status 255 env MCDTP_REAL_SSH="$dir/bin/ssh" "$SHIM" -F "$e2e_config" far true </dev/null
err_has "MCDTP_REAL_SSH: it names mcdtp-shim itself"

step "called ssh, it is also what ssh itself calls for a jump host"
status 3 bounded ssh -v -F "$e2e_config" -J far far 'echo out; exit 3' </dev/null
out_is out && err_has "^mcdtp-shim: backend: ssh"
err_has "^mcdtp-shim: going on as ssh: an ssh that mcdtp-shim has started calls it"
status 4 bounded ssh -v -F "$e2e_config" -o "ProxyCommand=ssh -F '$e2e_config' -W %h:%p far" far 'cat; exit 4' < <(echo word)
out_is word && err_has "^mcdtp-shim: backend: ssh"

step "a script called ssh that goes on to it is not the real ssh"
mkdir "$dir/script" "$dir/script too"
printf '#!/bin/sh\nexec "%s" -F "%s" -v "$@"\n' "$SHIM" "$e2e_config" | tee "$dir/script/ssh" >"$dir/script too/ssh"
chmod +x "$dir/script/ssh" "$dir/script too/ssh"
status 3 env PATH="$dir/script:$dir/script too:$PATH" timeout 60 ssh far 'echo out; exit 3' </dev/null
out_is out && err_has "^mcdtp-shim: backend"
status 3 env PATH="$dir/script:$dir/script too:$PATH" timeout 60 ssh -tt far 'exit 3' </dev/null
same "-V" "$(/usr/bin/ssh -V 2>&1)" "$(PATH="$dir/script:$dir/script too:$PATH" timeout 60 ssh -V 2>&1 | grep -v '^mcdtp')"
same "log-ins at once" 1 "$(before=$(logins)
  PATH="$dir/script:$dir/script too:$PATH" timeout 60 ssh far true </dev/null 2>/dev/null
  echo $(($(logins) - before)))"

step "a compiled program called ssh that goes on to it is found out"
mkdir "$dir/compiled" && cp "$MCDTP_BIN/leads-to" "$dir/compiled/ssh"
export LEADS_TO=$SHIM
status 3 env PATH="$dir/compiled:$PATH" timeout 60 ssh -F "$e2e_config" far 'echo out; exit 3' </dev/null
out_is out && err_is ""
same "-V" "$(/usr/bin/ssh -V 2>&1)" "$(PATH="$dir/compiled:$PATH" timeout 60 ssh -V 2>&1)"
status 255 env PATH="$dir/compiled" "$(command -v timeout)" 60 "$SHIM" -F "$e2e_config" -tt far true </dev/null
err_has "^mcdtp-shim: find ssh: there is none in PATH but mcdtp-shim itself"
unset LEADS_TO

step "as ssh it serves rsync, which then adds an option of its own"
mkdir "$dir/tree" && echo word >"$dir/tree/file"
status 0 bounded rsync -a -4 -e "ssh -F $e2e_config" "$dir/tree/" "far:$dir/copy/"
diff -r "$dir/tree" "$dir/copy" >&2 || fail "the trees differ"
nothing_left
passed
