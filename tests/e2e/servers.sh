# timeout: 90
until_true() { for _ in $(seq 1200); do "$@" > /dev/null 2>&1 && return 0; sleep 0.1; done; echo "never true: $*"; return 1; }
P=/usr/lib/postgresql/15/bin
## redis
# needs: redis-server redis-cli
redis-server --port 7379 --bind 127.0.0.1 --unixsocket $PWD/r.sock --dir . --appendonly yes --daemonize no > log 2>&1 & s=$!
r() { redis-cli -p 7379 "$@"; }
until_true r ping; r set k v; r get k; r incr n; r lpush l 1 2 3; r lrange l 0 -1; redis-cli -s $PWD/r.sock get k; seq 1 2000 | sed 's/.*/SET key& &/' | r | sort | uniq -c | awk '{print $1, $2}'; r dbsize; r expire k 100; r save; r bgsave; until_true sh -c "redis-cli -p 7379 info persistence | grep rdb_bgsave_in_progress:0"; r eval 'return redis.call("get", "k")' 0; r subscribe ch > sub & sleep 0.3; r publish ch message; sleep 0.2; kill %2; grep -c message sub; r config get maxmemory | head -1; r bgrewriteaof > /dev/null; sleep 0.3; r shutdown nosave 2>&1; wait $s; echo $?; ls | sort | tr '\n' ' '
redis-server --port 7379 --bind 127.0.0.1 --dir . --appendonly yes > log 2>&1 & until_true r ping; r get key77; redis-benchmark -p 7379 -q -n 2000 -c 20 -t ping,set,get 2>/dev/null | tr '\r' '\n' | grep -c 'requests per second'; kill %1; wait %1; echo $?
## postgres
# needs: /usr/lib/postgresql/15/bin/initdb
# timeout: 180
as() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=$PWD/pg "$@"; else "$@"; fi; }
mkdir pg; [ "$(id -u)" = 0 ] && chown 65534:65534 pg; cd pg
as $P/initdb -D d -U db --no-sync -A trust > log 2>&1; echo $?; as $P/pg_ctl -D d -l serverlog -w -o "-p 7432 -c unix_socket_directories=$PWD -c listen_addresses=127.0.0.1 -c fsync=on" start > /dev/null; echo $?
q() { as psql -h "$H" -p 7432 -U db -qAt -d postgres "$@"; }
for H in $PWD 127.0.0.1; do q -c 'select 1 + 1'; done; q -c 'create table t(a int primary key, b text); insert into t select i, md5(i::text) from generate_series(1, 20000) i'; q -c 'select count(*), min(b) from t' -c 'explain (costs off) select * from t where a = 5' ; q -c "copy (select * from t where a < 4) to stdout"; seq 30000 30010 | q -c 'copy t(a) from stdin'; q -c 'select count(*) from t'; for i in 1 2 3 4 5; do q -c "update t set b = 'x$i' where a = $i" & done; wait; q -c "select b from t where a <= 5 order by a"; q -c 'vacuum analyze t' -c 'checkpoint'; q -c 'select pg_sleep(0.1)' -c "select current_user, inet_server_port()"; q -c 'begin; delete from t; rollback; select count(*) from t'; q -c 'set max_parallel_workers_per_gather=2; set parallel_setup_cost=0; set min_parallel_table_scan_size=0; select sum(length(b)) from t'; q -c 'select error' 2>&1 | head -1; as $P/pg_dump -h $H -p 7432 -U db postgres | grep -c '^[0-9]'; as $P/pgbench -h $H -p 7432 -U db -i -q postgres > /dev/null 2>&1; as $P/pgbench -h $H -p 7432 -U db -c 4 -j 2 -t 20 postgres 2> /dev/null | grep processed; as $P/pg_ctl -D d -m fast -w stop > /dev/null; echo $?; as $P/pg_ctl -D d -l serverlog -w -o "-p 7432 -c unix_socket_directories=$PWD" start > /dev/null; H=$PWD q -c 'select count(*) from t'; as $P/pg_ctl -D d -m immediate stop > /dev/null; echo $?; grep -cE 'FATAL|PANIC' serverlog
## nginx and curl
# needs: nginx curl
# user: root
mkdir html logs tmp; echo '<h1>page</h1>' > html/index.html; head -c 3000000 /dev/zero | tr '\0' z > html/big; chmod -R 755 .
cat > n.conf <<X
worker_processes 2; pid $PWD/n.pid; error_log $PWD/logs/e; user root;
events { worker_connections 64; }
http { access_log $PWD/logs/a; client_body_temp_path tmp/1; proxy_temp_path tmp/2; fastcgi_temp_path tmp/3; uwsgi_temp_path tmp/4; scgi_temp_path tmp/5; sendfile on;
 server { listen 127.0.0.1:7080; listen unix:$PWD/n.sock; root $PWD/html; location /p/ { proxy_pass http://127.0.0.1:7081/; } gzip on; location /ret { return 204; } }
 server { listen 127.0.0.1:7081; location / { return 200 "proxied \$request_uri\n"; } } }
X
nginx -p $PWD -c n.conf -t 2>&1 | grep -c successful; nginx -p $PWD -c n.conf 2>/dev/null; u=http://127.0.0.1:7080; until_true curl -s $u/; curl -s $u/; curl -s $u/big | md5sum; curl -s -o /dev/null -w '%{http_code} %{size_download}\n' $u/none; curl -s $u/p/x; curl -s --unix-socket n.sock http://h/; curl -s -r 0-3 $u/index.html; curl -sI $u/ | grep -i length; for i in $(seq 20); do curl -s -o /dev/null -w '%{http_code}' $u/ & done; wait; echo; nginx -p $PWD -c n.conf -s reload 2>/dev/null; sleep 0.5; curl -s -o /dev/null -w '%{http_code}\n' $u/ret; nginx -p $PWD -c n.conf -s quit 2>/dev/null; until_true test ! -e n.pid; grep -c ' 200 ' logs/a; curl -s $u/; echo $?; curl -s file://$PWD/html/index.html
## sqlite3
# needs: sqlite3
sqlite3 d.db 'create table t(a integer primary key, b); insert into t(b) values (1), ("two"), (null); select * from t; pragma journal_mode=wal; select count(*) from t, t x, t y;'; sqlite3 -header -csv d.db 'select * from t'; sqlite3 d.db .schema; sqlite3 d.db .dump | tail -3; for i in $(seq 8); do sqlite3 -cmd '.timeout 20000' d.db "insert into t(b) values ('p$i')" & done; wait; sqlite3 d.db 'select count(*) from t; pragma integrity_check; vacuum;'; sqlite3 d.db 'select nothing' 2>&1; echo $?; sqlite3 d.db "attach 'e.db' as e; create table e.x as select * from t; select count(*) from e.x"; sqlite3 :memory: 'with recursive c(x) as (select 1 union all select x+1 from c where x < 100000) select sum(x) from c'; ls | tr '\n' ' '
