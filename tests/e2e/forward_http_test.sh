#!/bin/bash
# Web pages of a far nginx through -L: many downloads at once, and a port where nothing listens.
. "$(dirname "$0")/lib.sh"
e2e_start_far --rate 100M --delay 10
. "$e2e_here/services.sh"
need nginx curl
web_server

# The listener is on the near host's loopback alone, the server on the far host's: only the forward joins them.
forward -L 8080:localhost:80 -L 8081:127.0.0.1:81

step "a page, through -L"
status 0 get -o "$dir/got/large" http://127.0.0.1:8080/large
same_file "large page" "$dir/www/large" "$dir/got/large"
status 22 get -f http://127.0.0.1:8080/nothing

step "100 downloads at once"
status 0 get -Z --parallel-max 100 --parallel-immediate "http://127.0.0.1:8080/[1-100]" -o "$dir/got/#1"
same_pages

step "a port where nothing listens: the connection is closed without a byte"
status 1 near bash -c 'read -r -n 1 <>/dev/tcp/127.0.0.1/8081'
out_is ''

stop_forward
passed
