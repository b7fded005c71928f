#!/bin/sh
# HAProxy with 4 threads in front of nginx, under wrk.
set -eu
. "$HERE/pages.sh"
front=$((port + 1))
serve "$port"
cat >"$DIR/haproxy.cfg" <<END
global
    nbthread 4
    maxconn 500
defaults
    mode http
    timeout connect 10s
    timeout client 10s
    timeout server 10s
frontend front
    bind 127.0.0.1:$front
    default_backend pages
backend pages
    server nginx 127.0.0.1:$port
END
haproxy -q -db -f "$DIR/haproxy.cfg" &
servers="$servers $!"
answers "$front"
load "$front"
fetch "$front"
stop
