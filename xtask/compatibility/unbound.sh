#!/bin/sh
# Unbound with 4 threads and data of its own, asked by dnsperf.
set -eu
port=$((20000 + $$ % 10000))
{
    echo "server:"
    echo "  num-threads: 4"
    echo "  interface: 127.0.0.1@$port"
    echo "  do-daemonize: no"
    echo "  chroot: \"\""
    echo "  username: \"\""
    echo "  directory: \"$DIR\""
    echo "  pidfile: \"$DIR/pid\""
    echo "  use-syslog: no"
    echo "  logfile: \"$DIR/log\""
    echo "  module-config: \"iterator\""
    echo "  local-zone: \"test.\" static"
    for i in $(seq 200); do echo "  local-data: \"host$i.test. A 10.0.0.$i\""; done
    echo "remote-control:"
    echo "  control-enable: no"
} >"$DIR/unbound.conf"
for i in $(seq 200); do echo "host$i.test A"; done >"$DIR/questions"
unbound -d -c "$DIR/unbound.conf" &
server=$!
tries=0
until grep -q ":$(printf %04X "$port") " /proc/net/udp; do
    tries=$((tries + 1))
    [ "$tries" -lt 200 ] || { tail -5 "$DIR/log" >&2; exit 1; }
    sleep 0.05
done
dnsperf -s 127.0.0.1 -p "$port" -d "$DIR/questions" -n 50 -c 8 -T 2 -t 20 >"$DIR/answers" 2>&1
grep -E 'Queries (sent|completed|lost)|Response codes' "$DIR/answers" | tr -s ' '
kill "$server"
wait "$server"
