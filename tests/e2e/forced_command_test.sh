#!/bin/bash
# A key that the far side binds to a command of its own: that command runs as under ssh, and sees no stray byte.
. "$(dirname "$0")/lib.sh"
e2e_start
force() { echo "command=\"$1\" $(cat "$dir/sshd/user_key.pub")" >"$dir/sshd/authorized_keys"; }

step "one that prints and ends"
force 'echo hi'
status 0 shim far whatever </dev/null
out_is hi && err_is ""
status 0 shim -v far whatever </dev/null
out_is hi && err_has "^mcdtp-shim: the far side runs no command of ours"
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

step "one that prints more than a shell's noise"
force 'head -c 200000 /dev/zero; cat'
printf tail | status 0 shim far whatever
head -c 200000 /dev/zero | cat - <(printf tail) | cmp - "$dir/out" || fail "the bytes differ"

step "one that looks like a greeting"
force "printf '\\nMCDTP 2 \\nnothing\\n'"
status 0 shim far whatever </dev/null
out_is $'\nMCDTP 2 \nnothing'

step "the user's own LocalCommand still runs"
cp "$dir/sshd/user_key.pub" "$dir/sshd/authorized_keys"
status 0 shim -oPermitLocalCommand=yes -oLocalCommand="touch '$dir/local'" far 'echo out' </dev/null
out_is out && err_is ""
[ -e "$dir/local" ] || fail "it did not run"

step "a key that is refused is tried once"
: >"$dir/sshd/authorized_keys"
status 255 shim far true </dev/null
out_is "" && err_has "Permission denied"
same "lines on stderr" 1 "$(wc -l <"$dir/err")"
nothing_left
passed
