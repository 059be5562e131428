#!/bin/bash
# A far shell whose start-up files print: what arrives is what ssh brings.
. "$(dirname "$0")/lib.sh"
e2e_start
[ "$(basename "$(getent passwd "$(id -un)" | cut -d: -f7)")" = bash ] || skip "the user's shell is not bash"
as_ssh() {
  real_ssh far "$@" </dev/null >"$dir/wanted" 2>/dev/null
  local wanted=$?
  status "$wanted" shim -v far "$@" </dev/null
  same_file "stdout" "$dir/wanted" "$dir/out"
}

step "a few words"
cat >"$dir/home/.bashrc" <<'END'
echo "Welcome!"
printf 'MCDTP is no greeting\nMCDTP \nMCDTP 2\n'
echo "on stderr" >&2
printf 'no newline at the end'
END
as_ssh 'echo out; exit 5'
grep -q Welcome "$dir/out" || fail "this bash reads no .bashrc: the test says nothing"
err_has "mcdtp-shim: backend" && err_lacks "going on as plain ssh"
pattern 300000 >"$dir/bytes"
real_ssh far 'cat' <"$dir/bytes" >"$dir/wanted" 2>/dev/null
status 0 shim far 'cat' <"$dir/bytes"
same_file "stdin behind the noise" "$dir/wanted" "$dir/out"

step "more than can be a greeting's neighbour: plain ssh takes over"
echo 'seq 1 1000000' >"$dir/home/.bashrc"
as_ssh 'echo out; exit 6'
err_has "going on as plain ssh"

step "a thousand lines"
echo 'seq 1 1000' >"$dir/home/.bashrc"
as_ssh 'echo out; exit 6'
err_lacks "going on as plain ssh"

step "binary noise of one long line"
echo 'head -c 30000 /dev/zero' >"$dir/home/.bashrc"
as_ssh 'echo out'
err_lacks "going on as plain ssh"

step "a start-up file that ends the shell"
echo 'echo no; exit 9' >"$dir/home/.bashrc"
as_ssh 'echo out'
nothing_left
passed
