# Bash library of the end-to-end tests of forwarded ports: source it after lib.sh and e2e_start_far.
#
#   need PROGRAM...           skips the test where one is not installed
#   service NAME COMMAND...   runs it on the far host until the test ends; what it prints is in $dir/NAME.log
#   service_listens PORT      true once the far host listens there
#   forward OPTION...         starts mcdtp-shim -N with these forwards on the near host and returns when all the near
#                             ports that they name listen
#   web_server                starts nginx on port 80 of the far loopback: pages 1 to 100, each one kilobyte more, and `large`
#   get ARGUMENT...           curl on the near host; same_pages: all pages are in $dir/got
#   near COMMAND...           runs it on the near host, bounded in time
#   stop_forward              ends the last one, and waits for its end
#
# Namespaces have ports of their own: each number here is free.

near() { bounded "$@"; }
need() {
  local program
  for program in "$@"; do
    type "$program" >/dev/null 2>&1 || skip "no $program here; scripts/test installs it"
  done
}

service() {
  local name=$1
  shift
  wan_far setsid "$@" </dev/null >"$dir/$name.log" 2>&1 &
}
far_listens() { wan_far ss -Hltn "sport = :$1" | grep -q .; }
near_listens() { wan_near ss -Hltn "sport = :$1" | grep -q .; }
service_listens() { until_true far_listens "$1"; }

# The near port of each -L and -D, of the forms [address:]port:host:port and [address:]port.
forwarded_ports() {
  local word letter=
  for word in "$@"; do
    case $letter in
      -L) sed -nE 's/^(.*:)?([0-9]+):([^:]+:[0-9]+|\/.*)$/\2/p' <<<"$word" ;;
      -D) echo "${word##*:}" ;;
    esac
    letter=$word
  done
}
listens_or_has_ended() { near_listens "$1" || ! kill -0 "$forward_pid" 2>/dev/null; }
forward() {
  local port
  E2E_NEAR=$e2e_token wan_near "$SHIM" -F "$e2e_config" -o ExitOnForwardFailure=yes -N "$@" far \
    </dev/null >"$dir/forward.out" 2>"$dir/forward.err" &
  forward_pid=$!
  for port in $(forwarded_ports "$@"); do
    until_true listens_or_has_ended "$port"
    near_listens "$port" || fail "mcdtp-shim -N $* has ended: $(cat "$dir/forward.err")"
  done
  [ -n "${FAKE-}" ] || [ -n "$(server_pid)" ] || fail "the real ssh forwards: no mcdtp-server runs"
}
get() { near curl -q -sS --max-time "$E2E_BOUND" "$@"; }
same_pages() { for i in {1..100}; do same_file "page $i" "$dir/www/$i" "$dir/got/$i"; done; rm -f "$dir/got"/*; }
web_server() {
  local i
  mkdir -p "$dir/www" "$dir/got"
  for i in {1..100}; do pattern $((i * 1000 + 1)) "$i" >"$dir/www/$i"; done
  pattern 4000000 999 >"$dir/www/large"
  cat >"$dir/nginx.conf" <<CONF
daemon off; master_process off; pid $dir/nginx.pid; error_log stderr;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path $dir/body; proxy_temp_path $dir/proxy; fastcgi_temp_path $dir/fastcgi;
  uwsgi_temp_path $dir/uwsgi; scgi_temp_path $dir/scgi;
  server { listen 127.0.0.1:80; listen [::1]:80; root $dir/www; }
}
CONF
  service nginx nginx -p "$dir" -c "$dir/nginx.conf" -e stderr
  service_listens 80
}

stop_forward() {
  local pid
  for pid in $(near_processes); do kill -TERM "$pid" 2>/dev/null; done
  wait "$forward_pid" 2>/dev/null
  nothing_left
}
