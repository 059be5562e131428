#!/bin/bash
# What the user has said for all runs: the configuration file, MCDTP_OPTIONS, MCDTP=off.
. "$(dirname "$0")/lib.sh"
e2e_start
export XDG_CONFIG_HOME=$dir/config HOME=$dir/home
mkdir -p "$dir/config/mcdtp" "$HOME/.config/mcdtp"
config=$dir/config/mcdtp/config
sed 's/^Host far$/Host far other/' "$e2e_config" >"$dir/ssh_config"
e2e_config=$dir/ssh_config
# The server's own words, as the client had them said there.
options() { status 0 shim "$@" 'tr "\0" " " </proc/$PPID/cmdline' </dev/null; cat "$dir/out"; }
has() { [[ "$2" == *" $1 "* ]] || fail "$1 is not among: $2"; }

step "by host, from the file"
cat >"$config" <<END
# for the test
Host other
  Channels 3
  PortRange 50000-50100
Host *
  Channels 5
  Log ~/mcdtp.log
END
has "--channels 5" "$(options far)"
has "--channels 3" "$(options other)"
has "--port-range 50000-50100" "$(options other)"
same "lines in the log" 3 "$(wc -l <"$HOME/mcdtp.log")"

step "MCDTP_OPTIONS and the command line win"
export MCDTP_OPTIONS="-c 7 --mtu '1400'"
has "--channels 7" "$(options other)"
has "--mtu 1400" "$(options other)"
has "--channels 2" "$(options -c 2 other)"
MCDTP_OPTIONS="--mtu 1" status 255 shim far true </dev/null
out_is "" && err_is "mcdtp-shim: MCDTP_OPTIONS: --mtu 1: give 1200 to 65507, the bytes of UDP payload in a datagram"
unset MCDTP_OPTIONS

step "switched off, by variable and by host"
MCDTP=off status 4 shim -v -c 3 far 'exit 4' </dev/null
err_has "^mcdtp-shim: going on as ssh: the shim is switched off"
printf 'Host other\n  Shim off\n' >"$config"
status 5 shim -v other 'exit 5' </dev/null
err_has "^mcdtp-shim: going on as ssh: the shim is switched off"
status 6 shim -v far 'exit 6' </dev/null
err_has "^mcdtp-shim: backend"
MCDTP=on status 6 shim -v other 'exit 6' </dev/null
err_has "^mcdtp-shim: backend"

step "a host of git alone, by an alias too"
sed 's/^Host far$/Host far other/; s/^  HostName .*/  HostName github.com/' "$e2e_config" >"$dir/git_config"
status 255 bounded "$SHIM" -v -oConnectTimeout=1 -oProxyCommand=false -F "$dir/git_config" far true </dev/null
err_has "^mcdtp-shim: going on as ssh: it serves git alone"

step "a mistake stops it, with file and line; not where the real ssh runs at all events"
printf '\nHost *\nRate fast\n' >"$config"
status 255 shim far true </dev/null
out_is "" && err_is "mcdtp-shim: $config line 3: --rate fast: give 1k to 1T bit/s, such as 80M, 1.5G or 500k"
status 0 shim -G far </dev/null
MCDTP=off status 0 shim far true </dev/null
echo "Channels 5" >"$config" && chmod o+w "$config" # anybody could have written it
status 255 shim far true </dev/null
out_is "" && err_is "mcdtp-shim: bad owner or permissions on $config"
chmod o-w,g+w "$config" # the user's own group may
status 0 shim far true </dev/null
rm "$config" && mkdir "$config"
status 255 shim far true </dev/null
err_is "mcdtp-shim: read $config: Is a directory"

step "without XDG_CONFIG_HOME, in the home directory"
unset XDG_CONFIG_HOME
echo "Channels 6" >"$HOME/.config/mcdtp/config"
has "--channels 6" "$(options far)"
nothing_left
passed
