#!/bin/sh
# Takes the README's pictures: `turnwise top` on the server of docs/guide/live.md, and a page of `turnwise profile`.
#
#     cargo build --release && docs/casts/pictures.sh target/release docs/casts
#
# Everything in them happens: nothing is drawn by hand. It needs gcc, tmux, aha and chromium, and takes half a minute.
set -eu
bin=$(realpath "$1") out=$(realpath "$2") chapter=$(realpath "$(dirname "$0")/../guide/live.md")
work=$(mktemp -d)
trap 'tmux -L pictures kill-server 2>/dev/null; kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work"
PATH=$bin:$PATH

picture() { # PAGE PICTURE WIDTH,HEIGHT
    chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size="$3" --screenshot="$2" "file://$1" 2>/dev/null
}

sed -n '/^```c,file=server.c$/,/^```$/{/^```/d;p}' "$chapter" > server.c
gcc -O2 -g -pthread -o server server.c
turnwise run -- ./server > server.log &
server=$!
sleep 1
tmux -L pictures new-session -d -x 100 -y 22 'turnwise top server'
sleep 4
tmux -L pictures send-keys -t 0 Enter # opens the lock
sleep 4
tmux -L pictures capture-pane -e -p -t 0 | aha --black --title top --style 'font-size:15px;margin:12px' > top.html
picture "$work/top.html" "$out/top.png" 940,420
tmux -L pictures kill-server
kill "$server" && wait "$server" || true # it would take CPUs of what is profiled next

turnwise profile --html profile.html -- @sample -t 4 > /dev/null
picture "$work/profile.html" "$out/profile.png" 1100,820
