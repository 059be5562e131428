#!/bin/bash
# rsync across a link that loses one packet in twenty each way, reorders and duplicates: identical trees.
. "$(dirname "$0")/lib.sh"
command -v rsync >/dev/null || skip "no rsync here"
e2e_start_far --rate 50M --delay 10 --jitter 2 --loss 0.05 --reorder 0.02 --duplicate 0.01 --seed 3
mkdir -p "$dir/source/deep"
for n in {1..200}; do pattern $((n * 53)) "$n" >"$dir/source/deep/$n"; done
pattern 3000000 999 >"$dir/source/big"
copy() { status 0 bounded rsync -a --rsh="$SHIM -F $e2e_config -c 8" "$@"; err_is ""; }

step "push"
copy "$dir/source/" "far:$dir/pushed/"
diff -r "$dir/source" "$dir/pushed" >&2 || fail "the trees differ"

step "pull"
copy "far:$dir/pushed/" "$dir/pulled/"
diff -r "$dir/source" "$dir/pulled" >&2 || fail "the trees differ"

step "both ways at once"
status 3 shim -c 8 far 'cat; exit 3' <"$dir/source/big"
same_file "through cat" "$dir/source/big" "$dir/out"

nothing_left
sshd_stop "$dir/sshd"
wan_down
awk -v lost="$(wan_stat up_lost)" 'BEGIN { exit !(lost > 20) }' || fail "the link lost nothing: $(wan_stats)"
passed
