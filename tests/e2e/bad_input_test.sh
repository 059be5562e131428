#!/bin/bash
# What cannot go well ends with status 255, nothing on stdout, and one clear sentence: ours, or ssh's own.
. "$(dirname "$0")/lib.sh"
e2e_start
refused() { # PATTERN COMMAND...: one line on stderr that has the pattern
  local pattern=$1
  shift
  status 255 "$@" </dev/null
  out_is ""
  err_has "$pattern"
  same "lines on stderr" 1 "$(wc -l <"$dir/err")"
}
as_ssh() { # what ssh says, and nothing else
  bounded ssh "$@" </dev/null >/dev/null 2>"$dir/wanted"
  status 255 bounded "$SHIM" "$@" </dev/null
  out_is ""
  same_file "stderr" "$dir/wanted" "$dir/err"
  [ -s "$dir/err" ] || fail "nothing was said"
}

step "our own options"
refused "^mcdtp-shim: -c 65: the number of channels must be 1 to 64" shim -c 65 far true
refused "^mcdtp-shim: -c 0: " shim -c 0 far true
refused "^mcdtp-shim: --port-range 5: give LOW-HIGH" shim --port-range 5 far true
refused "^mcdtp-shim: --rate fast: give" shim --rate fast far true
refused "^mcdtp-shim: --cc fixed needs --rate" shim --cc fixed far true
refused "^mcdtp-shim: --cc bbr: there are auto, fixed, daimd, none and cubic" shim --cc bbr far true
refused "^mcdtp-shim: --rate is for --cc fixed, not for --cc none" shim --cc none --rate 1M far true
refused "^mcdtp-shim (far): --relay is for -W alone" shim --relay far true
refused "^mcdtp-shim: --pacing odd: there are even and burst" shim --rate 1M --pacing odd far true
refused "^mcdtp-shim: --pacing is for --cc fixed, not for --cc cubic" shim --cc cubic --pacing even far true
refused "^mcdtp-shim: --memory 1: give" shim --memory 1 far true
refused "^mcdtp-shim: --bootstrap x: there are" shim --bootstrap x far true
refused "^mcdtp-shim: opening the log /nowhere/log: No such file or directory$" shim --log /nowhere/log far "touch $dir/done"
refused "^mcdtp-shim: opening the log /: Is a directory$" shim --log-full / far "touch $dir/done"
[ ! -e "$dir/done" ] || fail "the command ran"
refused "^mcdtp-shim: unknown option --nonsense" shim --nonsense far true
refused "^mcdtp-shim: no host given" "$SHIM"
refused "^mcdtp-shim: the host -x starts with a dash" "$SHIM" -- -x true

step "options that ssh refuses"
as_ssh -F "$e2e_config" -oNonsense=yes far true
as_ssh -F "$e2e_config" -oPort=x far true
as_ssh -F "$e2e_config" -p 99999 far true
as_ssh -F "$e2e_config" -j far true
as_ssh -F "$dir/no such file" far true
as_ssh -F "$e2e_config" -c no-such-cipher far true

step "a host that is not there"
as_ssh -F "$e2e_config" no-such-host.invalid true
as_ssh -F "$e2e_config" -p "$(free_port)" far true

step "a key that is refused"
ssh-keygen -q -t ed25519 -N '' -f "$dir/stranger"
sed "s|IdentityFile .*|IdentityFile $dir/stranger|" "$e2e_config" >"$dir/config"
as_ssh -F "$dir/config" far true

step "a host key that is not known, and one that has changed"
: >"$dir/empty"
as_ssh -F "$e2e_config" -oUserKnownHostsFile="$dir/empty" far true
sed "s| ssh-ed25519 .*| $(cut -d' ' -f1,2 "$dir/stranger.pub")|" "$dir/sshd/known_hosts" >"$dir/changed"
as_ssh -F "$e2e_config" -oUserKnownHostsFile="$dir/changed" far true
err_has "REMOTE HOST IDENTIFICATION HAS CHANGED"
# What ssh says of that is up to chance.
status 255 bounded "$SHIM" -v -F "$e2e_config" -oProxyCommand=false far true </dev/null
out_is "" && err_has "^mcdtp-shim: backend: ssh\$"
as_ssh -F "$e2e_config" -oRevokedHostKeys=no far true

step "no ssh at all"
status 255 bounded env PATH="$dir" "$SHIM" -F "$e2e_config" far true </dev/null
out_is "" && err_has "^mcdtp-shim: find ssh: there is none in PATH"
for option in -oRevokedHostKeys=/dev/null -oProxyCommand=false "-J nowhere" -oBogus=1 "-i $dir/key" "-p ssh" "-oSetEnv=A=b"; do
  status 255 bounded env PATH="$dir" "$SHIM" $option far true </dev/null
  out_is "" && err_is "mcdtp-shim: find ssh: there is none in PATH but mcdtp-shim itself; MCDTP_REAL_SSH can name it"
done
status 0 bounded env PATH="$dir" "$SHIM" -G -o SendEnv=GIT_PROTOCOL -p 2222 me@far </dev/null # git asks so
err_is "" && out_is $'host far\nuser me\nhostname far\nport 2222'
refused "^mcdtp-shim: MCDTP_REAL_SSH: no program at" bounded env MCDTP_REAL_SSH=/nowhere "$SHIM" -F "$e2e_config" far true

step "a connection that breaks"
for backend in ssh libssh2; do
  status 255 shim --bootstrap $backend far 'kill -KILL $(ps -o ppid= -p $PPID); sleep 1000' </dev/null
  out_is ""
  same "lines on stderr that are ours" 1 "$(grep -c '^mcdtp-shim: ' "$dir/err")"
done
err_has "^mcdtp-shim: the connection to far ended: "

step "a server's bad options"
status 255 bounded "$MCDTP_BIN/mcdtp-server" --channels 0 </dev/null
err_has "^mcdtp-server: read the options: "
status 255 bounded "$MCDTP_BIN/mcdtp-server" --cc nonsense </dev/null
err_has "^mcdtp-server: --cc nonsense: no such congestion control"
status 255 bounded "$MCDTP_BIN/mcdtp-server" --cc fixed --rate 1000000 --pacing odd </dev/null
err_has "^mcdtp-server: read the options: --pacing: there are even and burst"
status 255 bounded "$MCDTP_BIN/mcdtp-server" --pacing even </dev/null
err_has "^mcdtp-server: read the options: --pacing is for --cc fixed"
nothing_left
passed
