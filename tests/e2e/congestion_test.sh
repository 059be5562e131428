#!/bin/bash
# Each congestion control by its name: both ends take it, and all bytes come, both ways at once.
. "$(dirname "$0")/lib.sh"
e2e_start
pattern 10000000 >"$dir/ten"

through_cat() { # OPTION...
  step "$*"
  status 0 shim "$@" far cat <"$dir/ten"
  same_file "what came back" "$dir/ten" "$dir/out"
  err_is ""
  status 0 shim "$@" far 'tr "\0" "\n" <"/proc/$PPID/cmdline" | grep -A1 -E "^--(cc|pacing)$" | grep -v -e "^--"' </dev/null
}
through_cat -c 8
out_is auto
for name in daimd none cubic; do
  through_cat --cc "$name" -c 8
  out_is "$name"
done
through_cat --rate 400M -c 8
out_is fixed
for pacing in even burst; do
  through_cat --rate 400M --pacing "$pacing" -c 8
  out_is $'fixed\n'"$pacing"
done
# One that never waits still listens.
through_cat --cc none -c 1
through_cat --cc none -c 64
nothing_left
passed
