# Bash library of the tests of ssh's callers: source it after lib.sh.
#
#   callers_start [LINE...]  e2e_start, with an empty home for both sides and a far PATH on which the runs of
#                            mcdtp-server are counted; then $home is the home, $ssh_words ssh and its words for this
#                            sshd, $shim_words the shim's
#   as_ssh NAME FUNCTION...  runs FUNCTION twice, each in an empty directory of its own and with what one would write
#                            for ssh in $rsh: once ssh, once the shim. Output, exit status and all the files that it
#                            leaves there must be the same, and the shim must have run our server
#   as_ssh_handed_over ...   the same, but the shim must have left all to ssh
#                            A step of it that the rest needs ends with `|| return $unfit`: who fails as ssh does is no proof
#   needs PROGRAM PACKAGE    skips the rest of the test where it is missing
#
# $rsh is one shell word list, without quotes; $name stands for the run ("NAME.ssh", "NAME.shim").

readonly unfit=99

callers_start() {
  [ -n "${dir-}" ] || e2e_directory
  home=$dir/home
  mkdir -p "$home" "$dir/far-bin"
  printf '#!/bin/sh\necho run >>"%s"\nexec "%s" "$@"\n' "$dir/server-runs" "$MCDTP_BIN/mcdtp-server" \
    >"$dir/far-bin/mcdtp-server"
  chmod +x "$dir/far-bin/mcdtp-server"
  E2E_PATH=$dir/far-bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
  export HOME=$home
  e2e_start "$@"
  ssh_words="$(command -v ssh) -F $e2e_config" shim_words="$SHIM -F $e2e_config"
}

server_runs() { cat "$dir/server-runs" 2>/dev/null | wc -l; }
needs() { command -v "$1" >/dev/null || skip "no $1 here (Debian: $2)"; }

callers_run() { # KIND FUNCTION...
  local kind=$1
  shift
  mkdir "$dir/$name"
  rsh=$ssh_words
  [ "$kind" = ssh ] || rsh=$shim_words
  (cd "$dir/$name" && "$@" </dev/null >"$dir/$name.out" 2>"$dir/$name.err")
  echo $? >"$dir/$name.status"
}

callers_compare() { # NAME
  cp "$dir/$1.shim.out" "$dir/out" && cp "$dir/$1.shim.err" "$dir/err"
  [ "$(cat "$dir/$1.ssh.status")" -ne "$unfit" ] || fail "already with ssh: $(head -c 2000 "$dir/$1.ssh.err")"
  same "the status ($(head -c 400 "$dir/$1.ssh.err"))" "$(cat "$dir/$1.ssh.status")" "$(cat "$dir/$1.shim.status")"
  diff <(sed "s/$1\.ssh/$1.shim/g" "$dir/$1.ssh.out") "$dir/$1.shim.out" >&2 || fail "stdout differs from ssh's"
  diff -r --no-dereference "$dir/$1.ssh" "$dir/$1.shim" >&2 || fail "the files differ from ssh's"
}

as_ssh() { callers_both server "$@"; }
as_ssh_handed_over() { callers_both "" "$@"; }
callers_both() { # server|"" NAME FUNCTION...
  local wanted=$1 base=$2 before kind name
  shift 2
  step "$base"
  for kind in ssh shim; do
    name=$base.$kind before=$(server_runs)
    callers_run "$kind" "$@"
  done
  callers_compare "$base"
  [ -n "$wanted" ] || { same "runs of our server" "$before" "$(server_runs)"; return; }
  [ "$(server_runs)" -gt "$before" ] || fail "our server did not run"
}
