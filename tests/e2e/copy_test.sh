#!/bin/bash
# scp, sftp and tar over the shim, both directions.
. "$(dirname "$0")/lib.sh"
e2e_start
pattern 3000000 >"$dir/file"
mkdir -p "$dir/tree/sub dir"
for n in {1..30}; do pattern $((n * 111)) "$n" >"$dir/tree/sub dir/file $n"; done
run() { status 0 bounded "$@"; }
is_sftp_server_here() { [ -x /usr/lib/openssh/sftp-server ]; }

copies() { # NAME ARGUMENT...
  local name=$1
  shift
  step "scp $* ($name)"
  run scp "$@" -q -F "$e2e_config" -S "$SHIM" "$dir/file" "far:$dir/$name.up"
  same_file "up" "$dir/file" "$dir/$name.up"
  run scp "$@" -q -F "$e2e_config" -S "$SHIM" "far:$dir/file" "$dir/$name.down"
  same_file "down" "$dir/file" "$dir/$name.down"
  run scp "$@" -q -r -F "$e2e_config" -S "$SHIM" "$dir/tree" "far:$dir/$name.tree"
  diff -r "$dir/tree" "$dir/$name.tree" >&2 || fail "the trees differ"
  status 1 bounded scp "$@" -q -F "$e2e_config" -S "$SHIM" "far:$dir/none" "$dir/none"
  err_has "No such file"
}
copies new
copies old -O
copies verbose -v -C

step "sftp"
printf '%s\n' "put $dir/file $dir/sftp.up" "get $dir/file $dir/sftp.down" "ls $dir/tree" >"$dir/batch"
run sftp -q -b "$dir/batch" -F "$e2e_config" -S "$SHIM" far
same_file "up" "$dir/file" "$dir/sftp.up"
same_file "down" "$dir/file" "$dir/sftp.down"
echo "get $dir/none $dir/none" >"$dir/batch"
status 1 bounded sftp -q -b "$dir/batch" -F "$e2e_config" -S "$SHIM" far

step "the subsystem runs by our server where the far host has its program"
if is_sftp_server_here; then
  run sftp -v -b /dev/null -F "$e2e_config" -S "$SHIM" far
  err_has "mcdtp-shim: backend"
  err_lacks "going on as plain ssh"
else
  echo "  (not tried: there is none)"
fi

step "an unknown subsystem"
status 255 bounded "$SHIM" -F "$e2e_config" -s far no-such-subsystem </dev/null
out_is ""
[ -s "$dir/err" ] || fail "nothing was said"
status 0 shim -v -L "$(free_port):127.0.0.1:1" far true </dev/null # of which that says nothing
err_has "^mcdtp-shim: sent [0-9]* packets"

step "tar through a pipe, both directions"
tar -C "$dir/tree" -c . | status 0 shim far "mkdir -p '$dir/tar up' && tar -C '$dir/tar up' -x"
diff -r "$dir/tree" "$dir/tar up" >&2 || fail "the trees differ"
mkdir "$dir/tar down"
shim far "tar -C '$dir/tree' -c ." </dev/null | tar -C "$dir/tar down" -x || fail "tar: ${PIPESTATUS[*]}"
diff -r "$dir/tree" "$dir/tar down" >&2 || fail "the trees differ"
nothing_left
passed
