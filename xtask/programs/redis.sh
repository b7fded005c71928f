#!/bin/sh
# redis under the locks of the caller, loaded by redis-benchmark on the C library's.
# Usage: redis.sh IO_THREADS DIRECTORY
set -eu
socket="$2/redis.sock"
rm -f "$socket"
redis-server --port 0 --unixsocket "$socket" --io-threads "$1" --io-threads-do-reads yes --save '' --appendonly no \
    --dir "$2" --daemonize no >"$2/redis.log" &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true' EXIT
unset LD_PRELOAD
tries=0
until redis-cli -s "$socket" ping >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { echo "redis.sh: the server does not start: $(cat "$2/redis.log")" >&2; exit 1; }
    sleep 0.05
done
redis-benchmark -s "$socket" -t get -c 50 -P 16 -n 600000 -q
