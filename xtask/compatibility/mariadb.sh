#!/bin/sh
# MariaDB and sysbench, both under the locks of the caller. Usage: mariadb.sh setup|run; the database is $INPUT/data
set -eu
data=$INPUT/data
if [ "$1" = setup ]; then
    mysql_install_db --no-defaults --datadir="$data" --user="$(id -un)" --auth-root-authentication-method=normal
else
    cp -r "$data" "$DIR/data"
    data=$DIR/data
fi
socket=$data/socket
mariadbd --no-defaults --datadir="$data" --socket="$socket" --skip-networking --user="$(id -un)" \
    --pid-file="$data/pid" --innodb-buffer-pool-size=64M --innodb-flush-log-at-trx-commit=0 >"$data/log" 2>&1 &
server=$!
tries=0
until mysqladmin --no-defaults --socket="$socket" --user=root ping >"$data/ping" 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || { echo "no server; its log:" >&2; tail -5 "$data/log" >&2; exit 1; }
    sleep 0.1
done
load() {
    sysbench "$1" --mysql-socket="$socket" --mysql-user=root --mysql-db=sbtest --tables=2 --table-size=2000 \
        --threads=8 --time=0 --events=1600 --rand-seed=1 "$2" >"$data/load" 2>&1 ||
        { tail -5 "$data/load" >&2; exit 1; }
}
ask() { mysql --no-defaults --socket="$socket" --user=root --batch --skip-column-names sbtest -e "$1"; }
if [ "$1" = setup ]; then
    mysqladmin --no-defaults --socket="$socket" --user=root create sbtest
    load oltp_read_write prepare
else
    load oltp_read_write run
    grep -oE 'transactions: +[0-9]+' "$data/load" | tr -s ' '
    load oltp_point_select run
    grep -oE 'transactions: +[0-9]+' "$data/load" | tr -s ' '
    ask 'select count(*) from sbtest1; select count(*) from sbtest2; check table sbtest1, sbtest2'
fi
mysqladmin --no-defaults --socket="$socket" --user=root shutdown
wait "$server"
