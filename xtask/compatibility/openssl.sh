#!/bin/sh
# OpenSSL: a server, a client, and signatures by several processes at once.
set -eu
port=$((20000 + $$ % 10000))
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout key -out certificate \
    2>log
seq 20000 >page
openssl s_server -quiet -accept "127.0.0.1:$port" -key key -cert certificate -WWW >server 2>&1 &
server=$!
tries=0
until grep -q ":$(printf %04X "$port") 00000000:0000 0A" /proc/net/tcp; do
    tries=$((tries + 1))
    [ "$tries" -lt 200 ] || { cat server >&2; exit 1; }
    sleep 0.05
done
for turn in 1 2 3; do
    printf 'GET /page HTTP/1.0\r\n\r\n' |
        openssl s_client -quiet -verify_quiet -ign_eof -connect "127.0.0.1:$port" 2>>log |
        tail -n 20000 | sha256sum
done
openssl speed -multi 2 -seconds 1 ecdsap256 2>>log | grep -c 'sign '
kill "$server"
wait "$server" 2>/dev/null || true
