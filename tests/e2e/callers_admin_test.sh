#!/bin/bash
# Administrators' programs over the shim as over ssh: ansible, GNU parallel, docker.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/callers.sh"
needs ansible ansible-core
needs parallel parallel
e2e_directory
E2E_ENV="DOCKER_HOST=unix://$dir/docker.socket"
callers_start
for kind in ssh shim; do # $dir/path.KIND/ssh: a program of that name, for those who know no other
  mkdir "$dir/path.$kind"
  words=${kind}_words
  printf '#!/bin/sh\nexec %s "$@"\n' "${!words}" >"$dir/path.$kind/ssh"
  chmod +x "$dir/path.$kind/ssh"
done

printf 'far ansible_python_interpreter=/usr/bin/python3\n' >"$dir/hosts"
ansible_run() { # PIPELINING
  local program=$dir/path.${name##*.}/ssh ansible=(ansible -i "$dir/hosts" far)
  export ANSIBLE_HOME=$PWD/../$name.ansible ANSIBLE_PIPELINING=$1 ANSIBLE_NOCOLOR=1 LC_ALL=C.UTF-8
  export ANSIBLE_SSH_EXECUTABLE=$program ANSIBLE_SFTP_EXTRA_ARGS="-S $program" ANSIBLE_SCP_EXTRA_ARGS="-S $program"
  export ANSIBLE_SSH_CONTROL_PATH_DIR=$dir/$name.cp
  "${ansible[@]}" -m ping || return $unfit
  pattern 300000 4 >"$dir/$name.file"
  "${ansible[@]}" -m copy -a "src=$dir/$name.file dest=$dir/$name.copied mode=640" | grep -E 'changed|checksum|mode|size'
  "${ansible[@]}" -m shell -a 'echo out; echo err >&2; exit 3'
  echo $?
  # Without the reason: whether ansible has it from ssh, or its own words were cut off, is a race of these two.
  "${ansible[@]}" -m ping -e ansible_port=1 | grep -v '"msg"'
  echo "${PIPESTATUS[0]}"
  for socket in "$dir/$name.cp"/*; do ssh -O exit -S "$socket" far; done
}
ansible_both() { # NAME PIPELINING
  as_ssh "$1" ansible_run "$2"
  same_file "the copy" "$dir/$1.shim.file" "$dir/$1.shim.copied"
  same "ansible's status for an unreachable host" 4 "$(tail -n 1 "$dir/$1.shim.out")"
  ! grep -q 'mechanism failed' "$dir/$1.shim.err" || fail "$(cat "$dir/$1.shim.err")"
}
ansible_both ansible 0
ansible_both ansible-pipelining 1

parallel_home() {
  export PARALLEL_HOME=$PWD/../$name.parallel
  mkdir "$PARALLEL_HOME" && touch "$PARALLEL_HOME/will-cite"
}
parallel_run() {
  parallel_home
  for each in one two three; do echo "$each" >"$each"; done
  local parallel=(parallel -k --ssh "$rsh" -S far)
  "${parallel[@]}" -j 4 'echo "{}  on $(basename "$HOME")"; echo {} >&2; exit {}' ::: 0 1 2 3
  echo $?
  "${parallel[@]}" --transferfile {} --return {}.sum --cleanup 'cksum <{} >{}.sum' ::: one two three && cat ./*.sum
  seq 2000 | "${parallel[@]}" --pipe -N 500 'cksum; echo end'
  "${parallel[@]}" --nonall 'cat; exit 7'
  echo $?
}
as_ssh parallel parallel_run

# Its far wrapper has the job in a group of its own, and ends it once it finds its parent gone.
parallel_gives_up() {
  parallel_home
  local started=$PWD/../$name.started
  job_is_gone() { [ -s "$started" ] && ! kill -0 "$(cat "$started")" 2>/dev/null; }
  parallel --ssh "$rsh" -S far --timeout 12 "echo \$\$ >$started; exec sleep {}" ::: 1000
  echo $?
  becomes_true job_is_gone && echo "the job is gone"
}
as_ssh parallel-timeout parallel_gives_up
grep -qx 'the job is gone' "$dir/parallel-timeout.shim.out" || fail "the job lives on"

# docker's client on both sides, between them a daemon's socket that answers what `docker version` asks.
docker_client=$(PATH=$PATH:$MCDTP_BIN/../tools command -v docker)
if [ -z "$docker_client" ]; then
  echo "  (docker not tried: its client is not here; scripts/test fetches it)"
else
  cp "$docker_client" "$dir/far-bin/docker"
  setpriv --pdeathsig TERM python3 - "$dir/docker.socket" <<'END' >/dev/null 2>"$dir/daemon.err" &
import http.server, json, socketserver, sys
class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = b"OK" if self.path == "/_ping" else json.dumps(
            {"Version": "stand-in", "ApiVersion": "1.41", "message": "nothing at " + self.path}).encode()
        self.send_response(200 if self.path.endswith(("/_ping", "/version")) else 404)
        self.send_header("API-Version", "1.41")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
    do_HEAD = do_GET
    def address_string(self):
        return "near"
    def log_message(self, *_):
        pass
class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
Server(sys.argv[1], Answer).serve_forever()
END
  daemon=$!
  until_true test -S "$dir/docker.socket"
  docker_run() {
    PATH=$dir/path.${name##*.}:$PATH
    docker_words=(env -u DOCKER_HOST "$docker_client" -H "ssh://$(id -un)@far")
    "${docker_words[@]}" version --format '{{.Server.Version}} {{.Server.APIVersion}}' || return $unfit
    "${docker_words[@]}" inspect none
  }
  as_ssh docker docker_run
  same "the daemon's version" stand-in "$(head -n 1 "$dir/docker.shim.out" | cut -d' ' -f1)"
  kill "$daemon" && wait "$daemon" 2>/dev/null
fi
nothing_left
passed
