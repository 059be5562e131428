#!/bin/bash
# rsync over the shim: the trees are the same, whichever way, whatever the names.
. "$(dirname "$0")/lib.sh"
command -v rsync >/dev/null || skip "no rsync here"
e2e_start
export E2E_SHIM="$SHIM -F $e2e_config"
user=$(id -un)

tree() {
  mkdir -p "$1/deep/er" "$1/with blank" "$1/it's \"quoted\" \$HOME"
  for n in {1..60}; do pattern $((n * 37)) "$n" >"$1/deep/er/$n"; done
  pattern 3000000 99 >"$1/big"
  echo blank >"$1/with blank/a  b"
  echo quote >"$1/it's \"quoted\" \$HOME/*?[x]"
  echo newline >"$1/line
break"
  : >"$1/empty"
  ln -s big "$1/link"
  chmod 600 "$1/deep/er/7"
}
alike() {
  diff -r "$1" "$2" >&2 || fail "the trees differ"
  same "modes" "$(cd "$1" && find . -printf '%p %m %s %l\n' | sort)" "$(cd "$2" && find . -printf '%p %m %s %l\n' | sort)"
}
copy() { status 0 bounded rsync -a "$@"; err_is ""; }
tree "$dir/source"

step "push, and again after changes, with deletes"
copy --rsh="$E2E_SHIM -c 8" "$dir/source/" "far:$dir/pushed/"
alike "$dir/source" "$dir/pushed"
pattern 2000 5 >>"$dir/source/big"
rm "$dir/source/deep/er/9"
copy --delete --rsh="$E2E_SHIM -c 8" "$dir/source/" "far:$dir/pushed/"
alike "$dir/source" "$dir/pushed"

step "pull"
copy --rsh="$E2E_SHIM -c 8" "far:$dir/pushed/" "$dir/pulled/"
alike "$dir/source" "$dir/pulled"

step "user@host, and --rsh with -l"
copy --rsh="$E2E_SHIM" "$dir/source/with blank" "$user@far:$dir/at/"
alike "$dir/source/with blank" "$dir/at/with blank"
copy --rsh="$E2E_SHIM -l $user" "far:$dir/source/deep" "$dir/dash_l/"
alike "$dir/source/deep" "$dir/dash_l/deep"
bounded rsync -a --rsh="$E2E_SHIM -l nobody-here" "far:$dir/source/deep" "$dir/refused/" >"$dir/out" 2>"$dir/err"
# Over ssh too rsync says 12 where it sees the pipe's end first, and its child's 255 where it sees that.
case $? in 12 | 255) ;; *) fail "an unknown user" ;; esac
out_is "" && err_has "Permission denied"

step "a remote name with a blank"
copy -s --rsh="$E2E_SHIM" "far:$dir/source/with blank/" "$dir/blank target/"
alike "$dir/source/with blank" "$dir/blank target"
copy --rsh="$E2E_SHIM" "$dir/source/deep/" "far:$dir/blank\\ escaped/"
alike "$dir/source/deep" "$(ls -d "$dir"/blank*escaped)"

step "rsync's own failure is its status"
status 23 bounded rsync -a --rsh="$E2E_SHIM" "far:$dir/not there" "$dir/nowhere/"
status 127 shim far "PATH=/nowhere; rsync --server" </dev/null
nothing_left

step "IPv6"
if sshd_start "$dir/sshd6" ::1 "$(e2e_set_env)"; then
  port=$(sed -n 's/^ *Port //p' "$dir/sshd6/ssh_config")
  # The literal, as rsync passes it: without brackets.
  sed 's/^Host far/Host ::1/' "$dir/sshd6/ssh_config" >"$dir/config6"
  copy --rsh="$SHIM -F $dir/config6 -c 8 -p $port" "$dir/source/" "[::1]:$dir/six/"
  alike "$dir/source" "$dir/six"
  bounded "$SHIM" -v -F "$dir/config6" ::1 true </dev/null 2>"$dir/err" || fail "::1: status $?"
  err_has "^mcdtp-shim: trying UDP and TCP at ::1"
  sshd_stop "$dir/sshd6"
else
  echo "  (no IPv6 here)"
fi
nothing_left
passed
