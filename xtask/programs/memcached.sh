#!/bin/sh
# memcached under the locks of the caller, loaded by memcaslap on the C library's. Usage: memcached.sh THREADS
set -eu
port=$((20000 + $$ % 10000))
memcached -u "$(id -un)" -t "$1" -l 127.0.0.1 -p "$port" -m 128 &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true' EXIT
unset LD_PRELOAD
tries=0
# Listening sockets, as the kernel lists them: state 0A.
until grep -q ":$(printf %04X "$port") 00000000:0000 0A" /proc/net/tcp; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { echo "memcached.sh: the server does not start" >&2; exit 1; }
    sleep 0.05
done
memcaslap -s "127.0.0.1:$port" -T 1 -c 16 -t 1s
