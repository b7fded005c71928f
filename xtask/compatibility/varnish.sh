#!/bin/sh
# Varnish, with many threads, in front of nginx, under wrk.
set -eu
. "$HERE/pages.sh"
front=$((port + 1))
serve "$port"
varnishd -F -n "$DIR/varnish" -a "127.0.0.1:$front" -b "127.0.0.1:$port" -s malloc,32m -p thread_pools=2 \
    -p thread_pool_min=20 -j none >"$DIR/varnish.log" 2>&1 &
servers="$servers $!"
answers "$front"
load "$front"
fetch "$front"
stop
