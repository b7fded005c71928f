#!/bin/sh
# nginx, whose threads read files, under wrk.
set -eu
. "$HERE/pages.sh"
serve "$port"
load "$port"
fetch "$port"
stop
