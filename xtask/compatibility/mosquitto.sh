#!/bin/sh
# Mosquitto's broker; clients with threads publish and subscribe.
set -eu
port=$((20000 + $$ % 10000))
mosquitto -p "$port" >"$DIR/log" 2>&1 &
server=$!
tries=0
until grep -q ":$(printf %04X "$port") 00000000:0000 0A" /proc/net/tcp; do
    tries=$((tries + 1))
    [ "$tries" -lt 200 ] || { tail -5 "$DIR/log" >&2; exit 1; }
    sleep 0.05
done
mosquitto_sub -p "$port" -q 2 -t 'a/#' -C 600 >"$DIR/got" &
subscriber=$!
until grep -q SUBSCRIBE "$DIR/log" || [ "$tries" -ge 210 ]; do tries=$((tries + 1)); sleep 0.05; done
sleep 0.3
publishers=
for i in 1 2 3; do
    seq 200 | mosquitto_pub -p "$port" -q 2 -t "a/$i" -l &
    publishers="$publishers $!"
done
for publisher in $publishers; do wait "$publisher"; done
wait "$subscriber"
sort -n "$DIR/got" | sha256sum
kill "$server"
wait "$server" 2>/dev/null || true
