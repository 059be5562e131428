#!/bin/bash
# Version control over the shim as over ssh: git in all its ways, git-lfs, Mercurial, Subversion. More of git is in
# git_test.sh.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/callers.sh"
needs git git
needs git-lfs git-lfs
needs hg mercurial
needs svn subversion
unset "${!GIT_@}"
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_AUTHOR_DATE="1700000000 +0000" GIT_COMMITTER_DATE="1700000000 +0000" GIT_TERMINAL_PROMPT=0
E2E_ENV="GIT_CONFIG_NOSYSTEM=1"
callers_start
git config --global init.defaultBranch main
git config --global --add safe.directory '*'
git config --global protocol.file.allow always
port=$(sed -n 's/^ *Port //p' "$e2e_config")
user=$(id -un)
# git is given ssh:// addresses, whose host is the number.
sed 's/^Host far/Host far 127.0.0.1/' "$e2e_config" >"$dir/config" && mv "$dir/config" "$e2e_config"

repository() { # NAME: one with a few commits, and bare beside it
  git init -q "$dir/$1"
  for n in {1..8}; do
    pattern $((n * 20000)) "$n" >"$dir/$1/file $n"
    git -C "$dir/$1" add . && git -C "$dir/$1" commit -qm "commit $n"
  done
  git clone -q --bare "$dir/$1" "$dir/$1.git"
}
repository part
repository whole
git -C "$dir/whole" submodule --quiet add "far:$dir/part.git" part 2>/dev/null ||
  GIT_SSH_COMMAND=$ssh_words git -C "$dir/whole" submodule --quiet add "far:$dir/part.git" part || fail "no submodule"
git -C "$dir/whole" commit -qm "a part"
git -C "$dir/whole" push -q "$dir/whole.git" main

clone() { # VERSION [ADDRESS]
  export GIT_SSH_COMMAND=$rsh
  git -c protocol.version="$1" clone -q "${2-far:$dir/whole.git}" clone || return $unfit
  git -C clone log --format='%H %s' && git -C clone fsck --full 2>/dev/null
  rm -rf clone/.git
}
as_ssh git-v0 clone 0
as_ssh git-v2 clone 2
as_ssh git-address clone 2 "ssh://$user@127.0.0.1:$port$dir/whole.git"

work() { # clone with its submodule, change, push, fetch what another pushed
  export GIT_SSH_COMMAND=$rsh
  git clone -q --bare "$dir/whole.git" "$dir/$name.git"
  git clone -q --recurse-submodules "far:$dir/$name.git" clone || return $unfit
  ls clone/part
  echo more >clone/more && git -C clone add more && git -C clone commit -qm more
  git -C clone push -q origin main main:refs/heads/other || return $unfit
  git clone -q "far:$dir/$name.git" second && git -C clone branch -q third && git -C clone push -q origin third
  git -C second fetch -q && git -C second branch -r && git -C second pull -q origin other
  git -C clone push -q origin --delete third
  git -C clone push -q origin no-such-branch 2>/dev/null
  echo "$?"
  git ls-remote "far:$dir/$name.git" | cut -c1-60
  rm -rf clone second
}
as_ssh git-work work
archive() {
  export GIT_SSH_COMMAND=$rsh
  git archive --remote="far:$dir/whole.git" main | tar t
  git archive --remote="far:$dir/whole.git" no-such-branch
}
as_ssh git-archive archive
# GIT_SSH names one program, which git asks by -G whether it is ssh.
printf '#!/bin/sh\nexec %s "$@"\n' "$ssh_words" >"$dir/one.ssh"
printf '#!/bin/sh\nexec %s "$@"\n' "$shim_words" >"$dir/one.shim"
chmod +x "$dir"/one.*
one_word() {
  GIT_SSH=$dir/one.${name##*.} git ls-remote "ssh://$user@127.0.0.1:$port$dir/whole.git"
  GIT_SSH=$dir/one.${name##*.} GIT_SSH_VARIANT=simple git ls-remote "far:$dir/whole.git" main
}
as_ssh git-one-word one_word

# git-lfs asks the far side for an address and a token; here that is one where nobody listens.
cat >"$dir/far-bin/git-lfs-authenticate" <<END
#!/bin/sh
echo "\$# \$*" >>"$dir/lfs-asked"
echo '{"href":"http://127.0.0.1:9/lfs","header":{"Authorization":"token"}}'
END
chmod +x "$dir/far-bin/git-lfs-authenticate"
lfs() {
  : >"$dir/lfs-asked"
  export GIT_SSH_COMMAND=$rsh
  git init -q work && cd work && git lfs install --local >/dev/null && git remote add origin "far:$dir/whole.git"
  git lfs track '*.bin' && echo content >a.bin && git add . && git commit -qm large
  git lfs push origin main 2>&1 | grep -o 'dial tcp 127.0.0.1:9'
  sort -u "$dir/lfs-asked"
  cd .. && rm -rf work
}
as_ssh git-lfs lfs
grep -q '^2 .*whole.git upload$' "$dir/git-lfs.shim.out" || fail "git-lfs did not ask"

hg_run() {
  export HGRCPATH=/dev/null HGUSER=a
  hg --config ui.ssh="$rsh" clone -q "ssh://$user@far/$dir/hg" clone || return $unfit
  cd clone && echo more >more && hg add -q more && hg commit -q -d '0 0' -m more
  hg --config ui.ssh="$rsh" incoming && return
  hg --config ui.ssh="$rsh" push "ssh://$user@far:$port/$dir/$name.hg"
  hg --config ui.ssh="$rsh" id "ssh://$user@far:$port/$dir/$name.hg"
  hg --config ui.ssh="$rsh" pull "ssh://$user@far:$port/$dir/none"
  echo $?
  cd .. && hg -R clone log --template '{node} {desc}\n' && rm -rf clone
}
hg init "$dir/hg" && (cd "$dir/hg" && pattern 500000 3 >file && hg add -q && hg -q commit -u a -d '0 0' -m first)
for kind in ssh shim; do hg clone -q "$dir/hg" "$dir/hg.$kind.hg"; done
as_ssh hg hg_run

svn_run() {
  export SVN_SSH="$rsh -q --"
  svn -q checkout "svn+ssh://$user@far$dir/$name.svn" work || return $unfit
  pattern 300000 5 >work/file
  svn -q add work/file && svn commit --username a -m first work
  svn -q checkout "svn+ssh://$user@far$dir/$name.svn" second && svn update second && cmp second/file work/file
  svn list "svn+ssh://$user@far$dir/$name.svn"
  svn list "svn+ssh://$user@far$dir/none"
  echo $?
  rm -rf work second
}
for kind in ssh shim; do svnadmin create "$dir/svn.$kind.svn"; done
as_ssh svn svn_run
# svn ends its ssh by SIGTERM and wants to hear nothing of it. What svnserve still says may come before or not.
words_of_svn() { grep -v '^svnserve: ' "$dir/svn.$1.err" | sed "s/svn\.$1/svn/g"; }
same "words on stderr" "$(words_of_svn ssh)" "$(words_of_svn shim)"
nothing_left
passed
