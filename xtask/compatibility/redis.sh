#!/bin/sh
# Redis with threads for its input, output and disk, under its own benchmark.
set -eu
redis-server --port 0 --unixsocket "$DIR/socket" --io-threads 2 --io-threads-do-reads yes --save '' --appendonly yes \
    --dir "$DIR" --daemonize no >"$DIR/log" 2>&1 &
server=$!
ask() { redis-cli -s "$DIR/socket" "$@"; }
tries=0
until ask ping >"$DIR/ping" 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 200 ] || { tail -5 "$DIR/log" >&2; exit 1; }
    sleep 0.05
done
redis-benchmark -s "$DIR/socket" --threads 2 -t set,get,lpush -c 20 -P 8 -r 1000 -n 12000 -q >"$DIR/benchmark"
redis-benchmark -s "$DIR/socket" -P 4 -c 10 -n 8000 -q incr counter >>"$DIR/benchmark"
ask get counter
ask llen mylist
ask bgrewriteaof >"$DIR/rewrite"
ask flushall async
ask shutdown nosave
wait "$server"
