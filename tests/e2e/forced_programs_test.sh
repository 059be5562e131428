#!/bin/bash
# Programs that a key is commonly bound to, each with its real client, once as found out and once as remembered: rrsync,
# git-shell, borg. And the same with mcdtp-server --forced in front of them, which serves our channels.
. "$(dirname "$0")/lib.sh"
e2e_start
force() { echo "command=\"$1\",restrict $(cat "$dir/sshd/user_key.pub")" >"$dir/sshd/authorized_keys"; rm -rf "$dir/cache"; }
server=$MCDTP_BIN/mcdtp-server
export BORG_BASE_DIR=$dir/borg BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes
pattern 400000 >"$dir/bytes"
mkdir "$dir/tree"
for n in {1..9}; do pattern $((n * 7777)) "$n" >"$dir/tree/$n"; done

rrsync_works() { # what the key is bound to
  force "$1"
  rm -rf "$dir/space" && mkdir "$dir/space"
  for round in 1 2; do
    status 0 bounded rsync -a --rsh="$SHIM -F $e2e_config" "$dir/tree/" "far:copy$round/"
    diff -r "$dir/tree" "$dir/space/copy$round" >&2 || fail "the trees differ"
  done
  status 0 bounded rsync -a --rsh="$SHIM -F $e2e_config" "far:copy1/" "$dir/back/"
  diff -r "$dir/tree" "$dir/back" >&2 || fail "the trees differ"
  status 1 shim far 'cat /etc/passwd' </dev/null
}
git_shell_works() {
  force "$1"
  rm -rf "$dir/r.git" "$dir/clone1" "$dir/clone2"
  git init -q --bare "$dir/r.git"
  for round in 1 2; do
    status 0 env GIT_SSH_COMMAND="$SHIM -F $e2e_config" GIT_SSH_VARIANT=ssh timeout 60 git clone -q "far:$dir/r.git" "$dir/clone$round"
    cp "$dir/bytes" "$dir/clone$round/bytes$round"
    git -C "$dir/clone$round" add . && git -C "$dir/clone$round" -c user.name=x -c user.email=x@x commit -qm "$round"
    status 0 env GIT_SSH_COMMAND="$SHIM -F $e2e_config" GIT_SSH_VARIANT=ssh timeout 60 git -C "$dir/clone$round" push -q origin HEAD:main
    git -C "$dir/r.git" symbolic-ref HEAD refs/heads/main
  done
  same "commits" 2 "$(git -C "$dir/r.git" rev-list --count main)"
}
borg_works() {
  force "$1"
  rm -rf "$dir/repo"
  for round in 1 2; do
    export BORG_RSH="$SHIM -F $e2e_config"
    [ "$round" = 2 ] || status 0 timeout 60 borg init -e none "ssh://far$dir/repo"
    status 0 timeout 60 borg create "ssh://far$dir/repo::$round" "$dir/bytes"
    status 0 timeout 60 borg extract --stdout "ssh://far$dir/repo::$round"
    same_file "extracted" "$dir/bytes" "$dir/out"
  done
}

step "rrsync"
rrsync_works "rrsync $dir/space"
step "git-shell"
git_shell_works 'git-shell -c \"$SSH_ORIGINAL_COMMAND\"'
step "borg"
borg_works "borg serve --restrict-to-path $dir"

step "the same behind mcdtp-server --forced"
rrsync_works "$server --forced 'rrsync $dir/space'"
git_shell_works "$server --forced 'git-shell -c \\\"\$SSH_ORIGINAL_COMMAND\\\"'"
borg_works "$server --forced 'borg serve --restrict-to-path $dir'"
[ ! -e "$dir/cache" ] || fail "something was remembered"
nothing_left
passed
