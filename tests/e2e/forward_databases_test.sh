#!/bin/bash
# A far Redis and a far PostgreSQL through -L: to ports and to UNIX sockets, many connections at once, bulk beside
# small requests.
. "$(dirname "$0")/lib.sh"
e2e_start_far --rate 100M --delay 5
. "$e2e_here/services.sh"
need redis-check-rdb redis-cli redis-benchmark pgbench psql

# The server of Debian's redis-tools: what it is, it sees by its name.
service redis bash -c 'exec -a redis-server redis-check-rdb --bind 127.0.0.1 --port 6379 --dir "$0" --save ""' "$dir"

# PostgreSQL refuses to run as root, and its sockets must be reached by its own user.
postgres_bin=$(echo /usr/lib/postgresql/*/bin)
need "$postgres_bin/initdb"
chmod 711 "$dir"
mkdir "$dir/postgres"
as_postgres=()
if [ "$(id -u)" -eq 0 ]; then
  chown postgres: "$dir/postgres"
  as_postgres=(setpriv --reuid postgres --regid postgres --clear-groups)
fi
(cd "$dir/postgres" && "${as_postgres[@]}" "$postgres_bin/initdb" -D "$dir/postgres/data" -N -A trust -U me >"$dir/initdb.log" 2>&1) ||
  { cat "$dir/initdb.log"; fail "initdb"; }
service postgres "${as_postgres[@]}" "$postgres_bin/postgres" -D "$dir/postgres/data" -F \
  -c listen_addresses=127.0.0.1 -c unix_socket_directories="$dir/postgres" -c max_connections=60
service_listens 6379
service_listens 5432
forward -L 6379:127.0.0.1:6379 -L 5432:localhost:5432 -L "5433:$dir/postgres/.s.PGSQL.5432" \
  -L "$dir/.s.PGSQL.5434:127.0.0.1:5432"

redis() { near redis-cli -h 127.0.0.1 "$@"; }
step "Redis: set and get"
status 0 redis set key "$(pattern 1000 | base64 -w 0)"
out_is OK
status 0 redis get key
out_is "$(pattern 1000 | base64 -w 0)"

step "Redis: 20,000 keys in bulk, a subscriber beside them"
near redis-cli -h 127.0.0.1 subscribe news >"$dir/news" 2>/dev/null &
subscriber=$!
until_true grep -q subscribe "$dir/news"
awk 'BEGIN { for (i = 0; i < 20000; ++i) printf "SET key:%d %0100d\r\n", i, i }' >"$dir/bulk"
redis --pipe <"$dir/bulk" >"$dir/out" 2>"$dir/err" || fail "redis-cli --pipe"
grep -q 'errors: 0, replies: 20000' "$dir/out" || fail "bulk"
status 0 redis get key:19999
out_is "$(printf %0100d 19999)"
status 0 redis publish news told
out_is 1
until_true grep -qx told "$dir/news"

step "Redis: 100 connections at once"
status 0 near redis-benchmark -h 127.0.0.1 -c 100 -n 10000 -P 8 -q -t set,get
[ "$(grep -c 'requests per second' <(tr '\r' '\n' <"$dir/out"))" -ge 2 ] || fail "redis-benchmark"

sql() { near psql -h 127.0.0.1 -U me -d postgres -XAtq "$@"; }
dump="copy (select * from pgbench_accounts order by aid) to stdout"
step "PostgreSQL: pgbench makes its tables and runs eight clients"
status 0 near pgbench -h 127.0.0.1 -U me -i -s 1 -q postgres
status 0 near pgbench -h 127.0.0.1 -U me -c 8 -j 2 -t 25 postgres
grep -q 'actually processed: 200/200' "$dir/out" || fail "transactions"
grep -q 'failed transactions: 0' "$dir/out" || fail "failed transactions"

step "PostgreSQL: all rows, as the far host sees them"
status 0 sql -p 5432 -c "$dump"
wan_far psql -h 127.0.0.1 -U me -d postgres -XAtqc "$dump" >"$dir/wanted"
same_file "rows" "$dir/wanted" "$dir/out"
same "rows" 100000 "$(wc -l <"$dir/out")"

step "PostgreSQL: through a far UNIX socket, and a near one"
status 0 sql -p 5433 -c "select coalesce(inet_server_addr()::text, 'socket')"
out_is socket
status 0 near psql -h "$dir" -p 5434 -U me -d postgres -XAtqc "select coalesce(inet_server_addr()::text, 'socket')"
out_is 127.0.0.1/32

step "PostgreSQL: a cancelled query, and the connection goes on"
cat >"$dir/queries" <<'END'
begin;
set local statement_timeout = 200;
select pg_sleep(60);
rollback;
select 'after';
END
sql <"$dir/queries" >"$dir/out" 2>"$dir/err"
out_is after
err_has 'statement timeout'

kill "$subscriber" 2>/dev/null
stop_forward
passed
