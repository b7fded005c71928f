#!/usr/bin/env bash
# Starts services of Debian 12 in the foreground, alone and with the preload library, asks each a question until it
# answers and 32 times more, eight at once, and ends it by SIGTERM: services.sh TURNWISE|LIBRARY [--install] [NAME...].
# Answers and exit status must be equal; no log may tell of a crash, and no core may lie there, that is not there alone.
# A service is in namespaces of its own: its network, processes, /tmp and /run are gone with it. --install gets the
# packages, whose services are not started.
# shellcheck disable=SC2016,SC2094 # The table's commands are run later.
set -euo pipefail

# name, packages, set-up, command, question; $0 is the question's number. The working folder is /tmp, which is empty.
services() {
    service redis-server redis-server '' \
        'redis-server --io-threads 4 --io-threads-do-reads yes --save "" --appendonly yes --dir /tmp' \
        'talk 6379 "SET k$0 hello\r\nGET k$0\r\nUNLINK k$0\r\nQUIT\r\n" | grep hello'
    service memcached memcached '' 'memcached -u root -t 4 -m 32' \
        'talk 11211 "set k$0 0 0 5\r\nhello\r\nget k$0\r\nquit\r\n" | grep hello'
    service nginx nginx \
        'conf "user www-data; daemon off; worker_processes 2; pid pid; thread_pool default threads=4; events {}" \
            "http { access_log off; server { listen 80; root /tmp/www; aio threads; sendfile off; } }"' \
        'nginx -p /tmp -c conf -e stderr' 'page http://127.0.0.1'
    service apache2 apache2-bin \
        'modules=/usr/lib/apache2/modules
        conf "ServerName localhost" "ServerRoot /tmp" "DocumentRoot /tmp/www" "Listen 80" "ErrorLog /tmp/error.log" \
            "DefaultRuntimeDir /tmp" "PidFile pid" "User www-data" "Group www-data" "Mutex pthread" \
            "LoadModule mpm_event_module $modules/mod_mpm_event.so" "StartServers 2" "ThreadsPerChild 16" \
            "LoadModule authz_core_module $modules/mod_authz_core.so"' \
        'apache2 -DFOREGROUND -f /tmp/conf' 'page http://127.0.0.1'
    service haproxy haproxy \
        'conf global "nbthread 4" defaults "mode http" "timeout connect 5s" "timeout client 5s" "timeout server 5s" \
            "frontend f" "bind 127.0.0.1:80" "http-request return content-type text/plain string hello"' \
        'haproxy -db -f conf' 'curl -fsS http://127.0.0.1 | grep hello'
    service varnish varnish \
        'conf "vcl 4.1; backend b none; sub vcl_recv { return (synth(200)); }" \
            "sub vcl_synth { set resp.body = \"hello\"; return (deliver); }"' \
        'varnishd -F -n /tmp/v -a 127.0.0.1:80 -f /tmp/conf -s malloc,32m -j none -p thread_pools=2' \
        'curl -fsS http://127.0.0.1 | grep hello'
    service squid squid \
        'origin
        mkdir cache
        chown proxy cache
        conf "http_port 3128" "http_access allow all" "cache_dir aufs /tmp/cache 16 16 16" "pid_filename none" \
            "cache_log /tmp/cache.log" "access_log none" "netdb_filename none" "shutdown_lifetime 1 seconds" \
            "coredump_dir /tmp" "visible_hostname localhost"
        squid -N -z -f /tmp/conf' \
        'squid -N -f /tmp/conf' 'page http://127.0.0.1:8080 -x 127.0.0.1:3128'
    service privoxy privoxy 'origin; conf "listen-address 127.0.0.1:8118" "confdir /etc/privoxy" "logdir /tmp"' \
        'privoxy --no-daemon conf' 'page http://127.0.0.1:8080 -x 127.0.0.1:8118'
    service tinyproxy tinyproxy 'origin; conf "Port 8888" "Listen 127.0.0.1" "MaxClients 50" "Timeout 10"' \
        'tinyproxy -d -c conf' 'page http://127.0.0.1:8080 -x 127.0.0.1:8888'
    service unbound 'unbound bind9-dnsutils' \
        'conf server: "num-threads: 2" "do-daemonize: no" "chroot: \"\"" "username: \"\"" "directory: \"\"" \
            "use-syslog: no" "module-config: iterator" "local-zone: test. static" \
            "local-data: \"host.test. A 10.0.0.1\""' \
        'unbound -d -p -c /tmp/conf' 'host'
    service named 'bind9 bind9-dnsutils' \
        'zone
        conf "options { directory \"/tmp\"; recursion no; pid-file none; session-keyfile none; }; controls { };" \
            "zone \"test\" { type primary; file \"zone\"; };"' \
        'named -g -n 2 -c /tmp/conf' 'host'
    service knotd 'knot bind9-dnsutils' \
        'zone
        conf server: "  listen: 127.0.0.1@53" "  rundir: /tmp" "  udp-workers: 2" database: "  storage: /tmp/db" \
            log: "  - target: stderr" "    any: info" zone: "  - domain: test" "    file: /tmp/zone"' \
        'knotd -c /tmp/conf' 'host'
    service pdns_server 'pdns-server pdns-backend-bind bind9-dnsutils' \
        'zone; touch pdns.conf; conf "zone \"test\" { type master; file \"/tmp/zone\"; };"' \
        'pdns_server --config-dir=/tmp --socket-dir=/tmp --daemon=no --guardian=no --disable-syslog --launch=bind \
            --bind-config=/tmp/conf --local-address=127.0.0.1 --receiver-threads=2' 'host'
    service pdns_recursor 'pdns-recursor bind9-dnsutils' 'zone; touch recursor.conf' \
        'pdns_recursor --config-dir=/tmp --socket-dir=/tmp --daemon=no --disable-syslog --local-address=127.0.0.1 \
            --threads=3 --auth-zones=test=/tmp/zone' 'host'
    service dnsdist 'dnsdist bind9-dnsutils' \
        'conf "setLocal(\"127.0.0.1:53\")" "addAction(AllRule(), SpoofAction(\"10.0.0.1\"))"' \
        'dnsdist --supervised -C /tmp/conf' 'host'
    service dnsmasq 'dnsmasq-base bind9-dnsutils' '' \
        'dnsmasq -k -C /dev/null -u root -R -h -A /host.test/10.0.0.1 --pid-file=/tmp/pid --log-facility=-' 'host'
    service mariadbd 'mariadb-server mariadb-client' \
        'mysql_install_db --no-defaults --datadir=/tmp/data --user=root --auth-root-authentication-method=normal' \
        'mariadbd --no-defaults --datadir=/tmp/data --socket=/tmp/socket --skip-networking --user=root' \
        'mariadb --no-defaults -S socket -u root -BN -e "create or replace table test.t$0 select seq from
            mysql.seq_1_to_1000; select sum(seq) from test.t$0"'
    service postgres 'postgresql-15 postgresql-client-15' \
        'install -d -o postgres data
        setpriv --reuid=postgres --regid=postgres --clear-groups /usr/lib/postgresql/15/bin/initdb -D data -A trust' \
        'setpriv --reuid=postgres --regid=postgres --clear-groups /usr/lib/postgresql/15/bin/postgres -D data -k /tmp \
            -c listen_addresses=' \
        'psql -X -h /tmp -U postgres -Atc "create temp table t as select generate_series(1, 1000) i" \
            -c "select sum(i) from t"'
    service slapd slapd \
        'mkdir db
        conf "include /etc/ldap/schema/core.schema" "modulepath /usr/lib/ldap" "moduleload back_mdb" \
            "pidfile /tmp/pid" "database mdb" "suffix dc=test" "directory /tmp/db"
        printf "%s: %s\n" dn dc=test objectClass dcObject objectClass organization dc test o hello | slapadd -f conf' \
        'slapd -d 0 -h ldap://127.0.0.1 -f /tmp/conf' 'curl -fsS "ldap://127.0.0.1/dc=test?o?base" | grep hello'
    service mosquitto 'mosquitto mosquitto-clients' \
        'conf "listener 1883 127.0.0.1" "allow_anonymous true" "user root"' \
        'mosquitto -c conf' 'mosquitto_pub -t a/$0 -m hello -r -q 1; mosquitto_sub -t a/$0 -C 1 -W 5'
    service gearmand 'gearman-job-server gearman-tools' '' 'gearmand -u root -t 4 -L 127.0.0.1 -l stderr' \
        'gearman -w -f f$0 cat & gearman -f f$0 hello | grep hello; kill $!'
    service rsyslogd rsyslog \
        'conf "module(load=\"imtcp\")" "main_queue(queue.workerThreads=\"4\")" "input(type=\"imtcp\" port=\"514\")" \
            "action(type=\"omfile\" file=\"/tmp/out\")"' \
        'rsyslogd -n -f /tmp/conf -i /tmp/pid' \
        'echo "<13>Dec  1 00:00:00 host app: hello $0." >/dev/tcp/127.0.0.1/514
        sleep 0.5
        grep -om1 "hello $0\." out'
    service collectd 'collectd-core collectd-utils' \
        'conf "FQDNLookup false" "BaseDir \"/tmp\"" "PIDFile \"/tmp/pid\"" "ReadThreads 4" "WriteThreads 4" \
            "LoadPlugin load" "LoadPlugin memory" "LoadPlugin csv" "LoadPlugin unixsock" \
            "<Plugin unixsock>" "SocketFile \"/tmp/socket\"" "</Plugin>"' \
        'collectd -f -C /tmp/conf' \
        'collectdctl -s socket putval h/a/gauge-x$0 N:42
        until collectdctl -s socket getval h/a/gauge-x$0; do sleep 0.1; done'
    service tor tor 'touch empty' \
        'tor -f empty --defaults-torrc empty --DataDirectory /tmp/tor --ControlPort 9051 --DisableNetwork 1' \
        'talk 9051 "AUTHENTICATE\r\nGETINFO version\r\nQUIT\r\n" | grep version'
    service transmission-daemon 'transmission-daemon transmission-cli' '' \
        'transmission-daemon -f -T -g /tmp/t -w /tmp/w' \
        'transmission-remote -si | grep "Download directory"'
    service icecast2 icecast2 'sed s#/var/log/icecast2#/tmp# /etc/icecast2/icecast.xml >conf' \
        'setpriv --reuid=icecast2 --regid=icecast --clear-groups icecast2 -c /tmp/conf' \
        'curl -fsS http://127.0.0.1:8000/status-json.xsl | grep -o "\"host\":\"[^\"]*\""'
    service turnserver coturn '' \
        'turnserver -n -L 127.0.0.1 --no-tls --no-dtls --no-cli --log-file=stdout --pidfile=/tmp/pid -r test' \
        'turnutils_stunclient 127.0.0.1 | grep -o "reflexive addr: 127.0.0.1"'
    service nscd nscd 'mkdir /run/nscd; conf "threads 4" "enable-cache passwd yes"' 'nscd -F -f /tmp/conf' \
        '[ -S /run/nscd/socket ] && getent passwd root'
    service uwsgi 'uwsgi-core uwsgi-plugin-python3' \
        'printf "%s\n" "def application(e, s):" "  s(\"200 OK\", [])" "  return [b\"hello\"]" >app.py' \
        'uwsgi --plugin python3 --http-socket 127.0.0.1:80 --wsgi-file app.py --master --processes 2 --threads 4 \
            --die-on-term' 'curl -fsS http://127.0.0.1 | grep hello'
    service pulseaudio 'pulseaudio pulseaudio-utils' '' \
        'pulseaudio -n --daemonize=no --exit-idle-time=-1 --use-pid-file=no --disallow-exit=0 -L module-null-sink \
            -L "module-native-protocol-unix socket=/tmp/pulse auth-anonymous=1"' \
        'pactl -s unix:/tmp/pulse info | grep "Default Sink"'
    service sshd 'openssh-server openssh-client' \
        'mkdir /run/sshd
        for key in host user; do ssh-keygen -q -t ed25519 -N "" -f $key; done
        conf "HostKey /tmp/host" "AuthorizedKeysFile /tmp/user.pub" "StrictModes no" "PermitRootLogin yes" \
            "PidFile none" "MaxStartups 100"' \
        '/usr/sbin/sshd -D -e -f /tmp/conf' \
        'ssh -qF none -i user -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null root@127.0.0.1 echo hello'
}

# For set-ups and questions. `origin` serves www on port 8080; `talk` prints what comes back until it ends, or nothing
# comes for a second.
conf() { printf '%s\n' "$@" >conf; }
zone() { printf '%s\n' '$TTL 60' '@ SOA ns a 1 60 60 60 60' '@ NS ns' 'ns A 127.0.0.1' 'host A 10.0.0.1' >zone; }
origin() { /usr/bin/python3 -m http.server -d www 8080 >origin.out 2>&1 & }
page() { curl -fsS "${@:2}" "$1/page" | sha256sum; }
host() { dig @127.0.0.1 +short host.test | grep .; }
talk() {
    exec 3<>"/dev/tcp/127.0.0.1/$1"
    printf %b "$2" >&3
    while IFS= read -r -t 1 line <&3; do echo "${line%$'\r'}"; done
}
asked() { timeout 10 bash -o pipefail -c "$@" 2>/dev/null </dev/null; }

# The life of a service, in its namespaces: FILE VARIABLE SETUP COMMAND QUESTION. What must be equal goes to standard
# output, the rest to files with this name.
lived() {
    local out=$1 daemon status=0
    for folder in /tmp /run /dev/shm; do mount -t tmpfs -o mode=777 none "$folder"; done
    ip link set lo up
    cd /tmp
    export HOME=/tmp
    umask 022
    ulimit -c unlimited
    mkdir www
    seq 20000 >www/page
    : >log
    chmod 666 log
    bash -ec "$3" >setup.out 2>&1 </dev/null || { echo "no set-up: $(tail -n 1 setup.out)"; return; }
    (eval "exec env -i PATH=$PATH HOME=/tmp LC_ALL=C TZ=UTC $2 $4") >log 2>&1 </dev/null &
    daemon=$!
    SECONDS=0
    until asked "$5" 0 >first && [ -s first ]; do
        if [ "$SECONDS" -ge 20 ] || ! kill -0 "$daemon"; then break; fi
        sleep 0.1
    done
    if [ -s first ]; then
        seq 32 | xargs -P 8 -I{} bash -c 'asked "$1" {} || echo "no answer to {}"' bash "$5" | sort | uniq -c
    else
        echo "no answer: $(tail -qn 1 log ./*.log)"
    fi
    ! grep -q libturnwise_preload "/proc/$daemon/maps" || touch "$out.loaded"
    kill -TERM "$daemon"
    { sleep 20; kill -KILL "$daemon"; } &
    wait "$daemon" || status=$?
    echo "status $status"
    tail -n 10 log ./*.log >"$out.log"
    { cat log ./*.log; find . -name 'core*' -type f -size +100k; } | grep -aiE "$crashes" |
        sed -E 's/0x[0-9a-f]+|[0-9]+/N/g' | sort -u >"$out.crashes"
}
crashes='assert|fatal|segv|sigabrt|segmentation|signal [0-9]|sanitizer|corrupt|double free|terminate called|panic'
export crashes+='|core dump|/core|turnwise'
export -f conf zone origin page host talk asked lived

# Starts a service and keeps what came of it: alone|again|ours NAME VARIABLE SETUP COMMAND QUESTION
ran() {
    local out=$place/$2.$1
    timeout -k 1 180 unshare --mount --pid --fork --kill-child --mount-proc --net --ipc \
        bash -c 'lived "$@"' bash "$out" "${@:3}" >"$out" 2>"$out.err" </dev/null || true
    touch "$out.log" "$out.crashes"
}

# Prints what differs under the library.
differences() {
    [ ! -e "$1.alone.loaded" ] || echo "the library is there alone"
    [ -e "$1.ours.loaded" ] || echo "the library is not there"
    diff "$1.alone" "$1.ours" | head -n 8 || true
    comm -13 "$1.alone.crashes" "$1.ours.crashes"
}

# Judges one service: prints `same`, `skipped` or `DIFFERS`, its name and why.
judged() {
    local name=$1 out=$place/$1 missing='' what
    for package in $2; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=" $package"
    done
    [ ! "$missing" ] || { echo "skipped $name: not installed:$missing"; return; }
    ran alone "$name" '' "${@:3}"
    if what=$(grep -E '^ *([0-9]+ )?no ' "$out.alone") || ! grep -q '^status ' "$out.alone"; then
        echo "skipped $name: alone: ${what:-it does not end}"
        return
    fi
    ran ours "$name" "LD_PRELOAD=$library" "${@:3}"
    what=$(differences "$out")
    [ "$what" ] || { echo "same $name"; return; }
    ran again "$name" '' "${@:3}"
    if ! cmp -s "$out.alone" "$out.again"; then
        echo "skipped $name: it differs from run to run: $(diff "$out.alone" "$out.again" | sed -n 2p)"
        return
    fi
    printf 'DIFFERS %s: %s\n' "$name" "$what"
    sed 's/^/    /' "$out.ours.log"
}

[ "$(id -u)" = 0 ] || { echo "only root can start these services"; exit 77; }
unshare --mount --net true || { echo "no namespaces here"; exit 77; }
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C TZ=UTC
turnwise=${1:?services.sh TURNWISE|LIBRARY [--install] [NAME...]}
shift
place=$(mktemp -d -p /var/tmp)
trap 'rm -rf "$place"' EXIT
chmod 755 "$place"
# Copied, since services run as users who cannot read root's files.
library=$place/libturnwise_preload.so.0
case $turnwise in
    *.so*) original=$turnwise ;;
    *) original=$("$turnwise" library) ;;
esac
install -m 755 "$original" "$library"

install=
if [ "${1:-}" = --install ]; then
    install=yes
    shift
    service() { printf '%s\n' "$2"; }
    policy=/usr/sbin/policy-rc.d
    # Packages start no services. A file that is there says so already, or what its owner wants.
    if [ ! -e "$policy" ]; then
        trap 'rm -rf "$place" "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
    apt-get -qq update
    # shellcheck disable=SC2046 # names of packages
    DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends $(services) >"$place/apt" 2>&1 ||
        { tail -n 20 "$place/apt"; exit 1; }
fi

wanted=$*
: >"$place/verdicts"
service() {
    [ ! "$wanted" ] || [[ " $wanted " == *" $1 "* ]] || return 0
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n || true; done
    { what=$(judged "$@"); printf '%s\n' "$what" | tee -a "$place/verdicts"; } &
}
services
wait
count() { grep -c "^$1 " "$place/verdicts" || true; }
same=$(count same) differ=$(count DIFFERS)
echo "$same services alike, $differ different with the library, $(count skipped) skipped"
[ "$((same + differ))" -gt 0 ] || { echo "no service can be judged here: --install gets them"; exit 77; }
[ ! "$install" ] || [ "$wanted" ] || [ "$((same + differ))" -ge 25 ] || { echo "fewer than 25 were judged"; exit 1; }
[ "$differ" = 0 ]
