#!/bin/sh
# MariaDB under the locks of the caller, loaded by sysbench on the C library's.
# Usage: mariadb.sh setup DIRECTORY; mariadb.sh SYSBENCH_TEST DIRECTORY
set -eu
dir=$2
socket=$dir/mariadb.sock
load() {
    sysbench "$1" --mysql-socket="$socket" --mysql-user=root --mysql-db=sbtest --tables=1 --table-size=10000 \
        --threads=8 --time=2 --rand-seed=1 "$2"
}
if [ "$1" = setup ]; then
    mysql_install_db --no-defaults --datadir="$dir/data" --user="$(id -un)" --auth-root-authentication-method=normal \
        >"$dir/install.log" 2>&1 || { cat "$dir/install.log" >&2; exit 1; }
fi
mariadbd --no-defaults --datadir="$dir/data" --socket="$socket" --skip-networking --user="$(id -un)" \
    --pid-file="$dir/mariadb.pid" --innodb-buffer-pool-size=128M --innodb-flush-log-at-trx-commit=0 \
    >"$dir/mariadb.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true' EXIT
unset LD_PRELOAD
tries=0
until mysqladmin --no-defaults --socket="$socket" --user=root ping >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || { echo "mariadb.sh: no server; its log:" >&2; tail -5 "$dir/mariadb.log" >&2; exit 1; }
    sleep 0.1
done
if [ "$1" = setup ]; then
    mysqladmin --no-defaults --socket="$socket" --user=root create sbtest
    load oltp_point_select prepare
else
    load "$1" run
fi
