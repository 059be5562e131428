#!/bin/bash
# Web pages of a far nginx through -D, as a browser asks for them: by SOCKS 4, 4a and 5, with names that only the far
# host resolves, IPv6, many at once, and what curl says of a target that refuses.
. "$(dirname "$0")/lib.sh"
e2e_start_far --rate 100M --delay 10
. "$e2e_here/services.sh"
need nginx curl
web_server
forward -D 1080

step "SOCKS 4, 4a and 5, numbers and names, IPv6"
for socks in "--socks4 127.0.0.1:1080 http://127.0.0.1/7" "--socks4a 127.0.0.1:1080 http://localhost/7" \
  "--socks5 127.0.0.1:1080 http://127.0.0.1/7" "--socks5-hostname 127.0.0.1:1080 http://localhost/7" \
  "--socks5-hostname 127.0.0.1:1080 http://[::1]/7"; do
  step "curl $socks"
  status 0 get -g $socks -o "$dir/got/7"
  same_file "page" "$dir/www/7" "$dir/got/7"
done

step "100 downloads through SOCKS, thirty at once"
status 0 get -Z --parallel-max 30 --socks5-hostname 127.0.0.1:1080 "http://localhost/[1-100]" -o "$dir/got/#1"
same_pages

step "SOCKS 5 says why"
status 97 get --socks5-hostname 127.0.0.1:1080 http://localhost:81/
err_has "(5)"
status 97 get --socks4a 127.0.0.1:1080 http://localhost:81/
err_has "(91)"
status 97 get --socks5-hostname 127.0.0.1:1080 http://no.such.host.invalid/
err_has "(4)"

step "no SOCKS: closed, and the others go on"
printf 'GET / HTTP/1.0\r\n\r\n' | near curl -q -sS --max-time 20 telnet://127.0.0.1:1080 >"$dir/out" 2>"$dir/err"
out_is ''
status 0 get --socks5 127.0.0.1:1080 -o "$dir/got/1" http://127.0.0.1/1
same_file "page" "$dir/www/1" "$dir/got/1"

stop_forward
passed
