#!/bin/bash
# git over the shim: clone, fetch, push, the newer protocol, and git's probe for what program it has been given.
. "$(dirname "$0")/lib.sh"
command -v git >/dev/null || skip "no git here"
e2e_start
unset "${!GIT_@}"
export HOME=$dir/home GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git config --global init.defaultBranch main
git config --global --add safe.directory '*'
export GIT_SSH_COMMAND="$SHIM -F $e2e_config"
run() { status 0 bounded git "$@"; }
contents() { git -C "$1" log --format='%H %s' "${2:-main}"; }

git init -q "$dir/work"
for n in {1..20}; do
  pattern $((n * 5000)) "$n" >"$dir/work/file $n"
  git -C "$dir/work" add . && git -C "$dir/work" commit -qm "commit $n"
done
git clone -q --bare "$dir/work" "$dir/it's far.git"

step "clone, with git's own probe and the second protocol"
GIT_TRACE=$dir/trace GIT_TRACE_PACKET=$dir/packets run clone "far:$dir/it's far.git" "$dir/clone"
same "the history" "$(contents "$dir/work")" "$(contents "$dir/clone")"
git -C "$dir/clone" fsck --full >"$dir/out" 2>&1 || fail "fsck: $(cat "$dir/out")"
grep -q 'clone< version 2' "$dir/packets" || fail "GIT_PROTOCOL did not reach the far side"
grep -q -- '-o SendEnv=GIT_PROTOCOL' "$dir/trace" || fail "git took the shim for another kind of program"

step "the probe itself prints what ssh prints"
probe=(-G -o SendEnv=GIT_PROTOCOL -p 2222 someone@far)
status 0 bounded "$SHIM" -F "$e2e_config" "${probe[@]}"
same_file "-G" "$dir/out" <(ssh -F "$e2e_config" "${probe[@]}")
bounded "$SHIM" -F "$e2e_config" "${probe[@]}" <&- >&- 2>&- || fail "-G with nothing on 0, 1 and 2: $?"

step "push"
pattern 2000000 77 >"$dir/clone/big"
git -C "$dir/clone" add . && git -C "$dir/clone" commit -qm pushed
run -C "$dir/clone" push origin main
same "the history" "$(contents "$dir/clone")" "$(contents "$dir/it's far.git")"

step "fetch, by an ssh:// address with a port"
port=$(sed -n 's/^ *Port //p' "$e2e_config")
sed "s/^Host far/Host far 127.0.0.1/" "$e2e_config" >"$dir/config"
export GIT_SSH_COMMAND="$SHIM -F $dir/config -c 8"
run -C "$dir/work" fetch "ssh://$(id -un)@127.0.0.1:$port$dir/it's far.git" main:fetched
same "the history" "$(contents "$dir/clone")" "$(contents "$dir/work" fetched)"

step "a push that the far side refuses"
git -C "$dir/it's far.git" config receive.denyNonFastForwards true
git -C "$dir/clone" commit -q --amend -m other
status 1 bounded git -C "$dir/clone" push -f origin main
err_has "non-fast-forward"

step "no such repository"
status 128 bounded git clone "far:$dir/none.git" "$dir/none"
err_has "does not appear to be a git repository"
nothing_left
passed
