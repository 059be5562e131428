#!/bin/bash
# A far host that takes its time, or whose words do: whatever comes of it, a command runs once at most.
. "$(dirname "$0")/lib.sh"
SSHD_PATIENCE=none e2e_start
pattern 300000 >"$dir/bytes"
echo "command=\"$dir/shell\" $(cat "$dir/sshd/user_key.pub")" >"$dir/sshd/authorized_keys"
shell() { # LINE: the login shell's start-up
  printf '#!/bin/sh\n%s\neval "$SSH_ORIGINAL_COMMAND"\n' "$1" >"$dir/shell"
  chmod +x "$dir/shell"
  rm -rf "$dir/ran" "$dir/cache"
}
runs() { cat "$dir/ran" 2>/dev/null | wc -l; }

step "a login shell that is slow, but not too slow"
for options in "--bootstrap libssh2" "--bootstrap ssh --server /nonexistent"; do
  shell "sleep 2.2"
  status 4 shim -oConnectTimeout=30 $options far "echo ran >>$dir/ran; cat; exit 4" <"$dir/bytes"
  same_file "through cat" "$dir/bytes" "$dir/out"
  same "runs" 1 "$(runs)"
done

step "a server whose client has ended its stdin already runs nothing"
rm -f "$dir/ran"
mkfifo "$dir/ended"
exec 7<>"$dir/ended" 8<"$dir/ended" 7>&-
status 75 "$MCDTP_BIN/mcdtp-server" --protocol "$("$MCDTP_BIN/mcdtp-server" --version | sed -n 's/.*protocol \([0-9]*\).*/\1/p')" --channels 1 \
  --port-range 60000-61000 --cc auto -- "echo ran >>$dir/ran" <&8
exec 8<&-
out_is ""
same "runs" 0 "$(runs)"

# What the far side says first is held up until we have given up, and has said so by the end of stdin. The line runs in a
# process of its own once the way is held: only a shell that is itself slow would be asked whether anybody waits. It is
# held once the shell has been heard: before, ssh may have no window yet, in which even the end of stdin cannot be told.
begins_held() { # FOLDER: start-up lines
  echo "echo the shell begins >&2
until [ -e $1/hold.taken ]; do sleep 0.02; done"
}
hold() { # FOLDER
  until_true grep -sq "the shell begins" "$dir/err"
  : >"$1/hold"
}
host=$(sed -n 's/^ *HostName //p' "$e2e_config") port=$(sed -n 's/^ *Port //p' "$e2e_config")
# ConnectTimeout, in seconds: how long we wait, and hear out whom we have waited for. It is also how long this machine may
# need until the far server, told that nobody waits, has ended, and that is known here.
patience=30
late_config() { # FOLDER
  mkdir "$1"
  rm -f "$dir/err"
  {
    cat "$e2e_config"
    echo "  ConnectTimeout $patience"
    echo "  ProxyCommand python3 $(realpath "$e2e_here")/late_relay.py $host $port $1/hold $1/release"
  } >"$1/config"
}
# On a machine so slow that the line asks all the same, the real ssh runs the command, once too: that is tried again.
held_up() { # FOLDER OPTION...
  local try
  for try in 1 2 3 4 5; do
    hold_up "$dir/$1.$try" "${@:2}"
    same "runs" 1 "$(runs)"
    nothing_left
    [ "$got" -ne 0 ] || continue
    same "status" 255 "$got"
    out_is "" && err_has "^mcdtp-shim: far answered too late, when its command had begun"
    return
  done
  fail "this machine is too slow for it"
}
hold_up() { # FOLDER OPTION...
  local at=$1
  shift
  late_config "$at"
  shell "$(begins_held "$at")
sh -c \"\$SSH_ORIGINAL_COMMAND\"
exit"
  E2E_NEAR=$e2e_token bounded "$SHIM" "$@" -F "$at/config" far "echo ran >>$dir/ran; cat >$at/got; echo >$at/ended" \
    <"$dir/bytes" >"$dir/out" 2>"$dir/err" &
  shim=$!
  hold "$at"
  until_true test -e "$dir/ran"
  until_true "$gone" "$at"
  touch "$at/release"
  wait "$shim"
  got=$?
}
no_server() { [ -z "$(server_pid)" ]; }
has_ended() { [ -e "$1/ended" ]; }

step "a greeting that is on its way when nobody waits any more"
gone=no_server held_up greeting
step "and the word that there is no server"
gone=has_ended held_up plain --server /nonexistent

step "what never ran runs by the real ssh, and is no forced command"
asked() { # FOLDER
  local at=$1 start=$SECONDS
  late_config "$at"
  shell "$(begins_held "$at")
(sleep 2.2; eval \"\$SSH_ORIGINAL_COMMAND\")
status=\$?
echo \$status >>$at/statuses
exit \$status"
  E2E_NEAR=$e2e_token bounded "$SHIM" -F "$at/config" far "echo ran >>$dir/ran; cat; exit 4" <"$dir/bytes" >"$dir/out" 2>"$dir/err" &
  shim=$!
  hold "$at"
  until_true test -s "$at/statuses"
  touch "$at/release"
  took=$((SECONDS - start))
  wait "$shim"
  same "status" 4 $?
  same "statuses" $'75\n4' "$(cat "$at/statuses")"
  same_file "through cat" "$dir/bytes" "$dir/out"
  same "runs" 1 "$(runs)"
}
nothing_is_remembered() { [ -z "$(ls "$dir/cache/mcdtp/forced" 2>/dev/null)" ]; }
# Where the word that it did not run comes after both patiences, it is silence that is remembered: that is tried again.
for try in 1 2 3 4 5; do
  asked "$dir/asked.$try"
  nothing_is_remembered || [ "$took" -lt $((2 * patience)) ] && break
done
nothing_is_remembered || fail "it is remembered as forced"
nothing_left
passed
