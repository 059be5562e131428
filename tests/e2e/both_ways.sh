# Bash library of the tests of paths without UDP: source it once $dir is there.
#
#   both_ways LINE...  a million bytes there and back, and as many again once -v has said each LINE, with "${options[@]}"
#   has LINE           -v has said it
#   direct_tcp         the LINE of the direct TCP connection, and another_tcp those of more

pattern 1000000 >"$dir/bytes"
mkfifo "$dir/stdin"
direct_tcp="^mcdtp-shim: channel [0-9]*: the control link is a direct TCP connection"
another_tcp="^mcdtp-shim: channel [0-9]*: another TCP connection"
has() { grep -q -- "$1" "$dir/log"; }
size_is() { [ "$(stat -c %s "$1")" -ge "$2" ]; }

options=()
both_ways() { # LINE...: of -v
  : >"$dir/got" && : >"$dir/log"
  shim -v -c 4 "${options[@]}" far 'cat; echo end >&2; exit 7' <"$dir/stdin" >"$dir/got" 2>"$dir/log" &
  local shim=$! line
  exec 8>"$dir/stdin"
  cat "$dir/bytes" >&8
  until_true size_is "$dir/got" 1000000
  for line; do until_true has "$line"; done
  cat "$dir/bytes" >&8
  exec 8>&-
  wait "$shim"
  same "status" 7 $?
  cat "$dir/bytes" "$dir/bytes" | cmp - "$dir/got" || fail "the bytes differ"
  has '^end$' || fail "stderr did not arrive"
}
