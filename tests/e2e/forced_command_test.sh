#!/bin/bash
# A key that the far side binds to a command of its own: that command runs as under ssh, and sees no stray byte.
. "$(dirname "$0")/lib.sh"
SSHD_PATIENCE=none e2e_start
# Nothing is remembered of the key's last command.
force() {
  echo "command=\"$1\" $(cat "$dir/sshd/user_key.pub")" >"$dir/sshd/authorized_keys"
  rm -rf "$dir/cache"
}

step "one that prints and ends"
force 'echo hi'
status 0 shim far whatever </dev/null
out_is hi && err_is ""
status 0 shim -v far whatever </dev/null
out_is hi && err_has "^mcdtp-shim: going on as ssh: no command of ours ran there of late, says $dir/cache/mcdtp/forced/"
force 'exit 3'
status 3 shim far whatever </dev/null
out_is "" && err_is ""
force "echo \\\"\$SSH_ORIGINAL_COMMAND\\\""
status 0 shim far 'two  words' "'quoted'" </dev/null
out_is "two  words 'quoted'"

step "one that waits for stdin"
force cat
pattern 300000 >"$dir/bytes"
status 0 shim far whatever <"$dir/bytes"
same_file "through cat" "$dir/bytes" "$dir/out"
err_is ""

step "one that waits for stdin, for a service whose shell only refuses"
force cat
SHELL=/usr/sbin/nologin status 0 shim --bootstrap ssh far whatever <"$dir/bytes"
same_file "through cat" "$dir/bytes" "$dir/out"
err_is ""

step "one that prints more than a shell's noise"
force 'head -c 200000 /dev/zero; cat'
printf tail | status 0 shim far whatever
head -c 200000 /dev/zero | cat - <(printf tail) | cmp - "$dir/out" || fail "the bytes differ"

step "one that looks like a greeting"
force "printf '\\nMCDTP 2 \\nnothing\\n'"
status 0 shim far whatever </dev/null
out_is $'\nMCDTP 2 \nnothing'
# What others have put into a file that is sent; two of the records that a server would send behind it.
secret=$(printf 'ab%.0s' {1..32})
for line in "5 $secret aes-128-gcm - - -" plain nosubsystem ask slow env "install $(uname -m)" start "start $secret"; do
  printf 'before\n\nMCDTP %s\nbehind\0\377' "$line" >"$dir/forged"
  force "cat $dir/forged; cat"
  printf tail | status 0 shim far whatever
  cat "$dir/forged" <(printf tail) | cmp - "$dir/out" || fail "$line: the bytes differ"
  err_is ""
done
step "one that shows the exec line, with an echo that knows newlines by \\n"
printf '#!/bin/dash\necho "running: $SSH_ORIGINAL_COMMAND"\ncase $SSH_ORIGINAL_COMMAND in whatever) wc -c ;; *) exit 1 ;; esac\n' >"$dir/echoes"
chmod +x "$dir/echoes"
force "$dir/echoes"
printf words | status 0 shim far whatever
out_is $'running: whatever\n5'
step "a start-up file of the shell that prints such lines"
cp "$dir/sshd/user_key.pub" "$dir/sshd/authorized_keys"
rm -rf "$dir/cache"
printf 'cat %q\n' "$dir/forged" >"$dir/home/.bashrc"
printf tail | status 3 shim -v far 'cat; exit 3'
cat "$dir/forged" <(printf tail) | cmp - "$dir/out" || fail "the bytes differ"
err_has "^mcdtp-shim: sent [0-9]* packets" && err_lacks "plain ssh"
rm "$dir/home/.bashrc"

step "the next run goes to ssh at once, for this key and until it is forgotten"
force cat
before=$(logins)
status 0 shim -v far whatever <"$dir/bytes"
same_file "through cat" "$dir/bytes" "$dir/out"
err_has "^mcdtp-shim: the far side runs no command of ours"
same "log-ins" $((before + 2)) "$(logins)"
status 0 shim far whatever <"$dir/bytes"
same_file "through cat" "$dir/bytes" "$dir/out"
same "log-ins" $((before + 3)) "$(logins)"
ssh-keygen -q -t ed25519 -N '' -f "$dir/other"
cat "$dir/other.pub" >>"$dir/sshd/authorized_keys"
sed "s,IdentityFile .*,IdentityFile $dir/other," "$e2e_config" >"$dir/other_config"
status 0 bounded "$SHIM" -v -F "$dir/other_config" far 'echo free' </dev/null
out_is free && err_has "^mcdtp-shim: backend"
MCDTP=on status 0 shim -v far whatever <"$dir/bytes"
same_file "through cat" "$dir/bytes" "$dir/out"
err_has "^mcdtp-shim: backend"
rm "$dir"/cache/mcdtp/forced/*
force 'cat'
printf x | status 0 shim -v far whatever
out_is x && err_has "^mcdtp-shim: backend"

step "no place to remember in"
XDG_CACHE_HOME=/proc printf y | XDG_CACHE_HOME=/proc status 0 shim far whatever
out_is y && err_has "^mcdtp-shim: far runs a command of its own, each time twice, for that cannot be remembered in /proc/"
same "lines on stderr" 1 "$(wc -l <"$dir/err")"
printf y | XDG_CACHE_HOME=/proc status 0 shim -q far whatever
out_is y && err_is ""
rm -rf "$dir/cache"

step "what is remembered is forgotten when a command of ours runs"
force cat
printf x | status 0 shim far whatever
cp "$dir/sshd/user_key.pub" "$dir/sshd/authorized_keys"
MCDTP=on status 0 shim far true </dev/null
same "files" "" "$(ls "$dir/cache/mcdtp/forced")"

step "a server that cannot start is not remembered"
printf '#!/nonexistent\n' >"$dir/server" && chmod +x "$dir/server"
status 2 shim --server "$dir/server" far 'exit 2' </dev/null
err_has "^mcdtp-shim: mcdtp-server on far did not start: going on over plain ssh$"
status 2 shim -q --server /bin/false far 'exit 2' </dev/null
err_is ""
status 3 shim -v far 'exit 3' </dev/null
err_has "^mcdtp-shim: backend"

step "the user's own LocalCommand still runs"
cp "$dir/sshd/user_key.pub" "$dir/sshd/authorized_keys"
status 0 shim -oPermitLocalCommand=yes -oLocalCommand="touch '$dir/local'" far 'echo out' </dev/null
out_is out && err_is ""
[ -e "$dir/local" ] || fail "it did not run"
local_words=(-oPermitLocalCommand=yes "-oLocalCommand=echo at once; head -c 2 >&2; (until [ -e '$dir/begun' ]; do sleep .1; done; echo later; touch '$dir/said')&")
printf 'in' | status 2 shim "${local_words[@]}" far "touch '$dir/begun'; until [ -e '$dir/said' ]; do sleep .1; done; echo out; exit 2"
out_is $'at once\nlater\nout' && err_is in

step "a key that is refused is tried once"
: >"$dir/sshd/authorized_keys"
status 255 shim far true </dev/null
out_is "" && err_has "Permission denied"
same "lines on stderr" 1 "$(wc -l <"$dir/err")"
nothing_left
passed
