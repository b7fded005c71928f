#!/bin/sh
# aria2 by 8 connections, and curl with many transfers at once, from nginx.
set -eu
. "$HERE/pages.sh"
serve "$port"
aria2c -q -x 8 -s 8 -k 1M -d "$DIR" -o page "http://127.0.0.1:$port/page"
sha256sum <"$DIR/page"
curl -sS --no-progress-meter -Z --parallel-max 8 "http://127.0.0.1:$port/page?[1-6]" -o "$DIR/page#1"
cat "$DIR"/page[1-6] | sha256sum
stop
