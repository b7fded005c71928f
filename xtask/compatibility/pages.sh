# Sourced: `serve PORT` starts nginx with a pool of threads on $INPUT; `free_port` finds ports; `stop` ends all.
port=$((20000 + $$ % 10000))
servers=
serve() {
    cat >"$DIR/nginx.conf" <<END
daemon off; master_process off; pid $DIR/nginx.pid; error_log $DIR/nginx.log;
thread_pool pool threads=4;
events { worker_connections 256; }
http {
    access_log off; aio threads=pool; sendfile off; directio 4k;
    client_body_temp_path $DIR/body; proxy_temp_path $DIR/proxy; fastcgi_temp_path $DIR/fastcgi;
    uwsgi_temp_path $DIR/uwsgi; scgi_temp_path $DIR/scgi;
    server { listen 127.0.0.1:$1; root $INPUT; }
}
END
    nginx -e "$DIR/nginx.log" -c "$DIR/nginx.conf" &
    servers="$servers $!"
    answers "$1"
}
# Waits until somebody listens: state 0A in the kernel's table.
answers() {
    tries=0
    until grep -q ":$(printf %04X "$1") 00000000:0000 0A" /proc/net/tcp; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || { echo "nobody listens on port $1" >&2; cat "$DIR"/*.log >&2; exit 1; }
        sleep 0.05
    done
}
# Loads a port with wrk: whether all answers were good ones.
load() {
    wrk -t 2 -c 16 -d 1s "http://127.0.0.1:$1/page" >"$DIR/wrk.txt"
    grep -q 'requests in' "$DIR/wrk.txt"
    if grep -E 'Socket errors|Non-2xx' "$DIR/wrk.txt"; then exit 1; fi
    echo "answers"
}
fetch() { curl -sS "http://127.0.0.1:$1/page" | sha256sum; }
stop() {
    for server in $servers; do kill "$server"; done
    for server in $servers; do wait "$server" 2>/dev/null || true; done
}
