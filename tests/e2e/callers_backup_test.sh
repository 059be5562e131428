#!/bin/bash
# Backup programs over the shim as over ssh: borg, restic, rdiff-backup, unison, and a file system's stream.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/callers.sh"
needs borg borgbackup
needs restic restic
needs rdiff-backup rdiff-backup
needs unison-2.52 unison-2.52
E2E_ENV="BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes"
callers_start
export BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes RESTIC_PASSWORD=word UNISONLOCALHOSTNAME=here
mkdir -p "$dir/tree/sub dir"
for n in {1..40}; do pattern $((n * 9000)) "$n" >"$dir/tree/sub dir/file '$n'"; done
ln -s "sub dir" "$dir/tree/link"
pattern 4000000 50 >"$dir/tree/big"

borg_run() {
  export BORG_RSH=$rsh BORG_BASE_DIR=$PWD/../$name.borg
  local repository=far:$dir/$name.repository
  borg init -e none "$repository" || return $unfit
  borg create "$repository::first" "$dir/tree" || return $unfit
  borg list --format '{mode} {size} {path}{NL}' "$repository::first"
  borg extract "$repository::first"
}
as_ssh borg borg_run
diff -r "$dir/tree" "$dir/borg.shim$dir/tree" >&2 || fail "the trees differ"
borg_fails() { BORG_RSH=$rsh BORG_BASE_DIR=$PWD/../$name.borg borg list "far:$dir/no such repository"; }
as_ssh borg-failure borg_fails
same "borg's status" 2 "$(cat "$dir/borg-failure.shim.status")"

# As restic writes its own ssh: options behind the host. The program is one word then. restic gives it two seconds
# after the end of stdin, and then SIGKILL.
printf '#!/bin/sh\nexec %s "$@"\n' "$ssh_words" >"$dir/one.ssh"
printf '#!/bin/sh\nexec %s "$@"\n' "$shim_words" >"$dir/one.shim"
chmod +x "$dir"/one.*
port=$(sed -n 's/^ *Port //p' "$e2e_config")
restic_run() {
  local command="$dir/one.${name##*.} far -p $port -l $(id -un) -s sftp"
  local restic=(restic -q --no-cache -o "sftp.command=$command" -r "sftp:far:$dir/$name.repository")
  "${restic[@]}" init || return $unfit
  "${restic[@]}" backup "$dir/tree" || return $unfit
  "${restic[@]}" restore latest --target .
}
as_ssh restic restic_run
diff -r "$dir/tree" "$dir/restic.shim$dir/tree" >&2 || fail "the trees differ"
restic_fails() {
  restic -q --no-cache -o "sftp.command=$dir/one.${name##*.} far -s sftp" -r "sftp:far:$dir/none" snapshots
}
as_ssh restic-failure restic_fails

rdiff_run() {
  rdiff-backup --remote-schema "$rsh -C {h} rdiff-backup server" backup "$dir/tree" "far::$dir/$name.mirror" || return $unfit
  rdiff-backup --remote-schema "$rsh -C {h} rdiff-backup server" restore "far::$dir/$name.mirror" restored
  rdiff-backup --remote-schema "$rsh -C {h} rdiff-backup server" restore "far::$dir/none" none
}
as_ssh rdiff-backup rdiff_run
diff -r "$dir/tree" "$dir/rdiff-backup.shim/restored" >&2 || fail "the trees differ"

unison_run() {
  export UNISON=$PWD/../$name.unison
  cp -r "$dir/tree" ours
  local words=(unison-2.52 -batch -auto -silent -sshcmd "$dir/one.${name##*.}" -servercmd unison-2.52 ours
    "ssh://$(id -un)@far/$dir/$name.theirs")
  mkdir "$dir/$name.theirs"
  "${words[@]}" || return $unfit
  rm "ours/big"
  echo new >"$dir/$name.theirs/new"
  "${words[@]}" || return $unfit
  diff -r ours "$dir/$name.theirs"
}
as_ssh unison unison_run
same "the tree" "link new sub dir" "$(echo $(ls "$dir/unison.shim/ours"))"

# zfs send | ssh zfs receive: one long stream each way, by dd's own blocks, and its end.
stream() {
  local blocks="bs=128k iflag=fullblock status=none"
  dd if="$dir/tree/big" $blocks | $rsh far "dd of='$dir/$name.stream' $blocks && sync '$dir/$name.stream'" || return $unfit
  $rsh far "dd if='$dir/$name.stream' $blocks" </dev/null | dd of=back $blocks
  $rsh far "dd if='$dir/none' status=none" | wc -c
  echo "${PIPESTATUS[*]}"
}
as_ssh streams stream
same_file "the stream there and back" "$dir/tree/big" "$dir/streams.shim/back"
# syncoid's: a master of its own first, then commands through its socket, then its end.
syncoid_run() {
  local socket=$dir/$name.socket receive="mbuffer() { cat; }; mbuffer -q |  dd of='$dir/$name.stream' status=none"
  $rsh -M -S "$socket" -o ControlPersist=1m far exit || return $unfit
  $rsh -S "$socket" far "echo -n"
  dd if="$dir/tree/big" bs=128k status=none | $rsh -S "$socket" far " $receive" || return $unfit
  $rsh -S "$socket" far "cat '$dir/$name.stream'" >received
  $rsh -S "$socket" -O exit far
}
as_ssh syncoid syncoid_run
same_file "the stream" "$dir/tree/big" "$dir/syncoid.shim/received"
nothing_left
passed
