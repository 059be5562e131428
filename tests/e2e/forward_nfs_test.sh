#!/bin/bash
# NFSv4: a far nfs-ganesha through -L, used by libnfs's programs: files in and out, a listing, many readers at once.
. "$(dirname "$0")/lib.sh"
e2e_start_far --rate 100M --delay 5
[ "$(id -u)" -eq 0 ] || skip "nfs-ganesha opens files by handle, which is root's alone"
. "$e2e_here/services.sh"
need ganesha.nfsd nfs-cp nfs-ls

mkdir "$dir/exported" "$dir/recovery" "$dir/got"
cat >"$dir/ganesha.conf" <<CONF
NFS_CORE_PARAM {
  Protocols = 4; NFS_Port = 2049; Bind_addr = 127.0.0.1; Enable_NLM = false; Enable_RQUOTA = false;
  Plugins_Dir = $(dirname "$(dpkg -L nfs-ganesha-vfs | grep libfsalvfs)");
}
NFSv4 { Graceless = true; RecoveryBackend = fs; RecoveryRoot = $dir/recovery; }
NFS_KRB5 { Active_krb5 = false; }
EXPORT {
  Export_Id = 1; Path = $dir/exported; Pseudo = /files; Protocols = 4; Access_Type = RW; Squash = No_Root_Squash;
  SecType = sys; Transports = TCP; FSAL { Name = VFS; }
}
CONF
service ganesha ganesha.nfsd -F -f "$dir/ganesha.conf" -L "$dir/ganesha.events" -p "$dir/ganesha.pid"
service_listens 2049
forward -L 2049:127.0.0.1:2049
url() { echo "nfs://127.0.0.1/files$1?version=4&uid=0&gid=0"; }

step "copy in"
pattern 3000 1 >"$dir/small"
status 0 near nfs-cp "$dir/small" "$(url /small)"
same_file "copied in" "$dir/small" "$dir/exported/small"

step "32 writes and 32 reads outstanding"
load=$MCDTP_BIN/nfs-load
[ -x "$load" ] || skip "the rest: nfs-load is not built, libnfs-dev was missing"
status 0 near "$load" write "$(url /loaded)" 2000001 3000
"$load" pattern 2000001 | cmp - "$dir/exported/loaded" || fail "the bytes written differ"
status 0 near "$load" read "$(url /loaded)" 2000001
status 1 near "$load" read "$(url /small)" 3000
err_has "wrong bytes"
rm "$dir/exported/loaded"

step "copy out"
pattern 5000001 2 >"$dir/exported/large"
status 0 near nfs-cp "$(url /large)" "$dir/got/large"
same_file "copied out" "$dir/exported/large" "$dir/got/large"

step "list"
status 0 near nfs-ls "$(url '')"
same "names and sizes" "large 5000001
small 3000" "$(awk '{ print $NF, $(NF - 1) }' "$dir/out" | sort)"

step "ten at once"
pids=()
for i in {0..9}; do
  near nfs-cp "$(url /small)" "$dir/got/$i" >/dev/null &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || fail "nfs-cp"; done
for i in {0..9}; do same_file "copy $i" "$dir/small" "$dir/got/$i"; done

step "what is not there"
status 10 near nfs-cp "$(url /nothing)" "$dir/got/nothing"

stop_forward
passed
