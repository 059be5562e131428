#!/bin/bash
# git through -L to a far git-daemon: clone, push, fetch.
. "$(dirname "$0")/lib.sh"
e2e_start_far --rate 100M --delay 10
. "$e2e_here/services.sh"
export GIT_CONFIG_GLOBAL=$dir/gitconfig GIT_CONFIG_SYSTEM=/dev/null
git config --global user.name me
git config --global user.email me@near
git config --global init.defaultBranch main
git config --global safe.directory '*'

git init -q --bare "$dir/far/project.git"
git init -q "$dir/first"
for i in {1..8}; do
  pattern $((i * 40000)) "$i" >"$dir/first/file$i"
  git -C "$dir/first" add . && git -C "$dir/first" commit -qm "file $i" || fail "commit"
done
git -C "$dir/first" push -q "$dir/far/project.git" main || fail "a local push"

service git git daemon --reuseaddr --export-all --enable=receive-pack --base-path="$dir/far" \
  --listen=127.0.0.1 --port=9418
service_listens 9418
forward -L 9418:127.0.0.1:9418
url=git://127.0.0.1/project.git

step "clone"
status 0 near git clone -q "$url" "$dir/second"
same "head" "$(git -C "$dir/first" rev-parse main)" "$(git -C "$dir/second" rev-parse main)"
status 0 git -C "$dir/second" fsck --strict

step "push"
pattern 3000000 77 >"$dir/second/large"
git -C "$dir/second" add . && git -C "$dir/second" commit -qm large || fail "commit"
status 0 near git -C "$dir/second" push -q origin main
same "head" "$(git -C "$dir/second" rev-parse main)" "$(git -C "$dir/far/project.git" rev-parse main)"

step "fetch, with both protocols"
for version in 0 2; do
  status 0 near git -C "$dir/first" -c protocol.version=$version fetch -q "$url" "main:got$version"
  same "head" "$(git -C "$dir/second" rev-parse main)" "$(git -C "$dir/first" rev-parse got$version)"
done

step "what is not there"
status 128 near git clone -q git://127.0.0.1/nothing.git "$dir/third"

stop_forward
passed
