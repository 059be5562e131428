#!/bin/bash
# Copying over the shim as over ssh: rsync's rarer ways, scp, sftp, sshfs. More is in rsync_test.sh and copy_test.sh.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/callers.sh"
needs rsync rsync
callers_start
user=$(id -un)
tree=$dir/"a tree's \"own\""
mkdir -p "$tree/sub  dir/it's" "$tree/\$HOME *"
for n in {1..30}; do pattern $((n * 1000)) "$n" >"$tree/sub  dir/file $n"; done
echo word >"$tree/sub  dir/it's/a \"b\" \\c"
echo word >"$tree/\$HOME */?[x]"
ln -s big "$tree/link"
pattern 2000000 70 >"$tree/big"

# rsync --daemon over a remote shell: a module of a file in the far home.
cat >"$home/rsyncd.conf" <<END
use chroot = no
log file = $dir/rsyncd.log
[module]
  path = $dir
  read only = no
  uid = $user
  gid = $(id -gn)
  munge symlinks = no
END
rsync_daemon() {
  # A daemon of root's looks for its file in /etc otherwise.
  local copy=(rsync -a --rsh="$rsh" --rsync-path="rsync --config=$home/rsyncd.conf")
  "${copy[@]}" far::
  "${copy[@]}" "far::module/${tree##*/}/" pulled || return $unfit
  "${copy[@]}" pulled/ "far::module/$name.daemon" || return $unfit
  diff -r --no-dereference "$tree" "$dir/$name.daemon"
  "${copy[@]}" rsync://far/no-such-module/ none
}
as_ssh rsync-daemon rsync_daemon
grep -q '^module' "$dir/rsync-daemon.shim.out" || fail "the module is not listed"

# --rsh is split at blanks, and quotes hold a word together.
rsync_quoted() {
  local words="-o 'ServerAliveInterval 15' -o \"SetEnv=A='b c'\" -l '$user'"
  rsync -a -e "$rsh $words" "$tree/" "far:$dir/$name.quoted" || return $unfit
  RSYNC_RSH="$rsh -o 'ProxyCommand=$ssh_words -W %h:%p far'" rsync -a "far:$dir/$name.quoted/" back || return $unfit
  diff -r --no-dereference "$tree" back
}
as_ssh rsync-quoted rsync_quoted
rsync_names() {
  rsync -a --rsh="$rsh" "far:$tree/sub  dir/it's" here || return $unfit
  rsync -a -s --rsh="$rsh" "$user@far:$tree/\$HOME *" here || return $unfit
  rsync -a --rsh="$rsh" "far:$tree/link" :"$tree/big" here || return $unfit
  rsync -a --rsh="$rsh" here/ "far:$dir/$name it's \"new\" \$x" || return $unfit
  rsync -a --rsh="$rsh" --list-only "far:$tree/" | awk '{print $1, $2, $5, $6}'
  diff -r here "$dir/$name it's \"new\" \$x"
}
as_ssh rsync-names rsync_names

scp_run() { # WORDS...
  local copy=(scp -q -S "$dir/one.${name##*.}" "$@")
  "${copy[@]}" -r -p "$tree" "far:$dir/$name.up" || return $unfit
  diff -r "$dir/$name.up" "$tree"
  "${copy[@]}" "scp://$user@far/$dir/$name.up/big" "far:$dir/$name.up/sub  dir/file 7" . || return $unfit
  "${copy[@]}" -3 "far:$tree/big" "far:$dir/$name.third" && cmp "$tree/big" "$dir/$name.third"
  "${copy[@]}" "far:$dir/none" none
}
printf '#!/bin/sh\nexec %s "$@"\n' "$ssh_words" >"$dir/one.ssh"
printf '#!/bin/sh\nexec %s "$@"\n' "$shim_words" >"$dir/one.shim"
chmod +x "$dir"/one.*
as_ssh scp scp_run
# The old protocol has the far shell read the names.
tree_before=$tree tree=$dir/plain
cp -r "$tree_before" "$tree" && rm -r "$tree"/*HOME* "$tree/sub  dir/it's" && mv "$tree/sub  dir" "$tree/sub"
scp_old() {
  local copy=(scp -q -O -S "$dir/one.${name##*.}")
  "${copy[@]}" -r -p "$tree" "far:$dir/$name.up" || return $unfit
  diff -r "$dir/$name.up" "$tree"
  "${copy[@]}" "far:$dir/$name.up/sub/file\\ 7" "far:$tree/big" . || return $unfit
  "${copy[@]}" -3 "far:$tree/big" "far:$dir/$name.third" && cmp "$tree/big" "$dir/$name.third"
  "${copy[@]}" "far:$dir/none" none
}
as_ssh scp-old scp_old
# -R: the far host copies to the other, with its own scp.
printf '#!/bin/sh\nexec /usr/bin/scp -q -S "%s/one.ssh" "$@"\n' "$dir" >"$dir/far-bin/scp"
chmod +x "$dir/far-bin/scp"
scp_remote() {
  scp -q -R -S "$dir/one.${name##*.}" "far:$tree/big" "far:$dir/$name.other" || return $unfit
  cmp "$tree/big" "$dir/$name.other"
  scp -q -R -S "$dir/one.${name##*.}" "far:$dir/none" "far:$dir/none too"
}
as_ssh scp-remote scp_remote
rm "$dir/far-bin/scp"

sftp_run() {
  cat >../batch <<END
mkdir $dir/$name.sftp
put -r $tree $dir/$name.sftp/tree
get $tree/big
-get $dir/none
rename $dir/$name.sftp/tree/big $dir/$name.sftp/tree/small
ls -1 $dir/$name.sftp/tree
get $dir/none
get $tree/link
END
  sftp -q -S "$dir/one.${name##*.}" -b ../batch far
}
as_ssh sftp sftp_run
if [ -x /usr/lib/openssh/sftp-server ]; then
  sftp_path() { echo "get $tree/big" | sftp -q -S "$dir/one.${name##*.}" -s /usr/lib/openssh/sftp-server -b - far; }
  as_ssh sftp-path sftp_path
else
  echo "  (sftp -s PATH not tried: there is no /usr/lib/openssh/sftp-server)"
fi

if ! command -v sshfs >/dev/null; then
  echo "  (sshfs not tried: it is not here; Debian: sshfs)"
elif ! [ -c /dev/fuse ] || ! { : <>/dev/fuse; } 2>/dev/null; then
  echo "  (sshfs not tried: /dev/fuse cannot be opened here)"
else
  sshfs_run() {
    mkdir ../mounted.$name
    sshfs -o ssh_command="$dir/one.${name##*.}" "$user@far:$tree" ../mounted.$name || return $unfit
    diff -r --no-dereference "$tree" ../mounted.$name
    cp -r ../mounted.$name/sub copy
    cp copy/* ../mounted.$name/ 2>&1 && rm "../mounted.$name/file 1" && mv ../mounted.$name/file\ 2 ../mounted.$name/moved
    ls ../mounted.$name
    umount ../mounted.$name
    rm -f "$tree"/file* "$tree/moved"
  }
  as_ssh sshfs sshfs_run
fi
nothing_left
passed
