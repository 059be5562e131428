#!/bin/bash
# Datagrams are as large as the path carries: over interfaces of 1,500 and of 9,000 bytes, where the link carries less than
# its interface, and no larger than --mtu says.
. "$(dirname "$0")/lib.sh"

# Sends 8 MB there and back once there is UDP; `datagrams` are then the largest sent and received, as -v tells them.
copy() {
  : >"$dir/err"
  status 0 shim -v -c 2 "$@" far cat < <(once_proved)
  same_file "$e2e_step" "$dir/source" "$dir/out"
  datagrams=$(sed -n 's/^mcdtp-shim: datagrams of up to \([0-9]*\) bytes sent, \([0-9]*\) received$/\1 \2/p' "$dir/err")
}

once_proved() {
  for channel in 0 1; do until_true grep -q "channel $channel: proved" "$dir/err"; done
  cat "$dir/source"
}

both_have() { # MTU
  wan_near ip link set wan0 mtu "$1"
  wan_far ip link set wan0 mtu "$1"
}

e2e_start_far --rate 200M --delay 1 --seed 5
pattern 8000000 7 >"$dir/source"

step "interfaces of 1,500 bytes"
copy
same "datagrams" "1472 1472" "$datagrams"

step "--mtu"
copy --mtu 1300
same "datagrams" "1300 1300" "$datagrams"

step "a short command"
status 0 shim -v far true </dev/null
# None at all where its end came first.
err_has "^mcdtp-shim: datagrams of up to \(0\|1200\) bytes sent, \(0\|1200\) received$"

step "interfaces of 9,000 bytes"
both_have 9000
copy
same "datagrams" "8972 8972" "$datagrams"

step "the far interface takes less"
wan_far ip link set wan0 mtu 1400
copy
same "datagrams received" 1372 "${datagrams#* }"

# As copy, twice the bytes, with COMMAND when half of them are back.
cat "$dir/source" "$dir/source" >"$dir/twice"
half_is_back() { [ "$(stat -c %s "$dir/out")" -ge 8000000 ]; }
two_halves() { # COMMAND...
  cat "$dir/source"
  until_true half_is_back
  "$@"
  cat "$dir/source"
}
copy_while() { # COMMAND...
  status 0 shim -v -c 2 far cat < <(two_halves "$@")
  same_file "$e2e_step" "$dir/twice" "$dir/out"
}
step "the interface narrows in the middle of a transfer"
both_have 9000
copy_while wan_near ip link set wan0 mtu 1500
err_has "datagrams of up to 8972 bytes sent"
err_has "^mcdtp-shim: no room in the system for [0-9]* datagrams here, [0-9]* there$"

# Small packets still come by UDP, and no others do.
step "the path comes to carry less than any datagram of data has"
both_have 1500
copy_while both_have 1200
err_has "nothing comes back, not used until it answers"

nothing_left
sshd_stop "$dir/sshd"
wan_down
passed
