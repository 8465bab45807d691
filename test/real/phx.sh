#!/bin/sh
# phx.sh - the command of extras/phx, as somebody meets it who does not know it.
#
# Goal: it joins, lists, pings, traces, pipes and draws; phx doctor names cause and cure of broken set-ups;
# wrong words and files are status 2 and one line.
# Method: real processes on loopback, at ports that the system picks; each wait ends when what is waited for
# has happened, or after a bound, and is a failure then.
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$(pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/phoenix.XXXXXX") || exit 1
pids=
finish() {
    for pid in $pids; do kill "$pid" 2> /dev/null; done
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP
unset PHX_JOIN PHX_KEY_FILE PHX_CLUSTER
count=0
failed=0

ok() { # status, name
    count=$((count + 1))
    if [ "$1" = 0 ]; then echo "ok $count - $2"; return; fi
    echo "not ok $count - $2"
    failed=$((failed + 1))
    sed 's/^/#   out: /' "$dir/out" | head -20
    sed 's/^/#   err: /' "$dir/err" | head -20
}

run() { # words of phx
    timeout 30 "$dir/phx" "$@" > "$dir/out" 2> "$dir/err"
    status=$?
}

has() { # status, a text in what was said, name
    [ "$status" = "$1" ] && cat "$dir/out" "$dir/err" | grep -qF -e "$2"
    ok $? "$3"
}

refused() { # a text in the one line, name, words
    text=$1
    name=$2
    shift 2
    run "$@"
    [ "$status" = 2 ] && [ "$(wc -l < "$dir/err")" = 1 ] && [ ! -s "$dir/out" ] \
        && grep -qF -e "$text" "$dir/err"
    ok $? "$name"
}

start() { # name of its output, words: runs on; its number in $started
    started_as=$1
    shift
    "$dir/phx" "$@" > "$dir/$started_as.out" 2> "$dir/$started_as.err" &
    started=$!
    pids="$pids $started"
}

appears() { # pattern, file
    left=250
    until grep -q -e "$1" "$dir/$2" 2> /dev/null; do
        left=$((left - 1))
        [ $left -gt 0 ] || return 1
        sleep 0.02
    done
}

knows() { # a label: until it is in the list
    left=20
    until run ls && grep -q "^$1 " "$dir/out"; do
        left=$((left - 1))
        [ $left -gt 0 ] || return 1
    done
}

# A client and a server that no system lacks.
cat > "$dir/web.c" << 'END'
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int argc, char **argv) /* PORT METHOD PATH: asks; silent: listens, takes and says nothing */
{
    struct sockaddr_in at;
    socklen_t size = sizeof at;
    char text[4096];
    ssize_t n;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (argc == 2) {
        if (bind(fd, (void *)&at, size) != 0 || listen(fd, 9) != 0
            || getsockname(fd, (void *)&at, &size) != 0)
            return 1;
        printf("%d\n", ntohs(at.sin_port));
        fflush(stdout);
        for (;;)
            if (accept(fd, NULL, NULL) < 0)
                return 1;
    }
    at.sin_port = htons((unsigned short)atoi(argv[1]));
    if (connect(fd, (void *)&at, sizeof at) != 0)
        return 1;
    n = snprintf(text, sizeof text, "%s %s HTTP/1.1\r\nHost: x\r\n\r\n", argv[2], argv[3]);
    if (write(fd, text, (size_t)n) != n)
        return 1;
    while ((n = read(fd, text, sizeof text)) > 0)
        fwrite(text, 1, (size_t)n, stdout);
    return n < 0;
}
END
${CC:-cc} -o "$dir/web" "$dir/web.c" > "$dir/out" 2> "$dir/err"
ok $? 'a client of HTTP'

tls=
printf '#include <bearssl.h>\nint main(void) { return br_ec_get_default() == 0; }\n' > "$dir/bear.c"
${CC:-cc} "$dir/bear.c" -lbearssl -o "$dir/bear" > /dev/null 2>&1 && tls=1
# The line in the first comment of phx.c, with TLS where there is BearSSL.
line=$(sed -n 's,^/\* cc \(.*\) \*/$,\1,p' extras/phx/phx.c | sed "s,-o phx,-o $dir/phx,")
sh -c "${CC:-cc} ${tls:+-DPHX_TLS} $line ${tls:+-lbearssl}" > "$dir/out" 2> "$dir/err"
ok $? 'it compiles by the line that it says'
[ -x "$dir/phx" ] || { echo "1..$count"; exit 1; }

# ---- Words and files

run --help
has 0 'phx COMMAND' 'help'
run ls --help
has 0 'phx ls --join' 'help of one command has examples'
run --version
has 0 "$(sed -n 's/^#define PHX_VERSION "\(.*\)"/\1/p' phoenix.h)" 'version'
refused 'no such command' 'an unknown command' frog
refused 'no such option' 'an unknown option' ls --frog
refused 'wants a value' 'an option without its value' ls --join
refused 'takes no value' 'a value that is not wanted' ls --json=3
refused 'not a number' 'a wait that is no number' ls --wait soon
refused 'usage: phx ping' 'a word too few' ping
refused 'join whom' 'nobody to join' ls
refused 'not a name' 'a name that is none' send seven --join tcp://127.0.0.1:1
refused 'No such file' 'a key file that is missing' ls --join tcp://127.0.0.1:1 --key "$dir/none"
refused 'malformed' 'an address that is none' ls --join frog
run key new "$dir/k"
[ "$status" = 0 ] && [ "$(wc -c < "$dir/k")" = 64 ] && [ "$(ls -l "$dir/k" | cut -c1-10)" = -rw------- ]
ok $? 'a new key is for its owner only'
refused 'File exists' 'a key is not overwritten' key new "$dir/k"
cp "$dir/k" "$dir/loose"
chmod 644 "$dir/loose"
refused 'can be read by others' 'a key that others can read' ls --join tcp://127.0.0.1:1 --key "$dir/loose"

# ---- A hub, a node, and who looks

start hub hub tcp://127.0.0.1:0 --key "$dir/k"
hub=$started
appears 'to join' hub.out
ok $? 'a hub says how to join it'
PHX_JOIN=$(sed -n 's/.*--join \([^ ]*\).*/\1/p' "$dir/hub.out")
PHX_KEY_FILE=$dir/k
export PHX_JOIN PHX_KEY_FILE
refused 'in use' 'a port in use' hub "$PHX_JOIN"
start node node 7 100-109 --label lab-3
node=$started
knows lab-3
grep -q '^lab-3 *ok *2 .*7,100-109$' "$dir/out" && grep -q '^hub  *ok  *1 ' "$dir/out"
ok $? 'ls: label, state, hops, names'
run ls --json
has 0 '"label":"lab-3","state":"ok","hops":2' 'ls for scripts'
run ping 7 --count 2
has 0 '2 of 2 answered' 'ping by name'
run ping lab-3 --count 1
has 0 '1 of 1 answered' 'ping by label'
run ping 55
has 1 'no node holds that name' 'ping of nobody'
run trace 105
grep -q '^ 1  hub  .*relays' "$dir/out" && grep -q '^ 2  lab-3 ' "$dir/out"
ok $? 'trace: who relays, and why'
run bench 7 --json
grep -Eq '^\{"latency_us":[0-9.]+,"messages_per_s":[1-9][0-9]+,"bytes_per_s":[1-9][0-9]+\}$' "$dir/out"
ok $? 'bench: three figures'
run bench 55
has 1 'nobody holds that name' 'bench with nobody'

# ---- Pipes

head -c 20000003 /dev/urandom > "$dir/in"
start recv recv 9
recv=$started
run send 9 < "$dir/in"
send=$status
wait "$recv"
[ "$send $?" = '0 0' ] && cmp -s "$dir/in" "$dir/recv.out"
ok $? 'send, recv: equal bytes, both say 0'
(run send 10 < "$dir/in"; echo "$status" > "$dir/sent") &
sender=$!
run recv 10-12
wait "$sender"
[ "$status $(cat "$dir/sent")" = '0 0' ] && cmp -s "$dir/in" "$dir/out"
ok $? 'who sends waits for who receives'
("$dir/phx" recv 13 2> "$dir/err" | (sleep 1; md5sum) > "$dir/sum") &
slow=$!
run send 13 < "$dir/in"
wait "$slow"
[ "$status $(cat "$dir/sum")" = "0 $(md5sum < "$dir/in")" ]
ok $? 'a slow reader loses nothing'
"$dir/phx" recv 14 2> /dev/null | head -c 1000 > /dev/null &
run send 14 < "$dir/in"
has 1 'Broken pipe' 'a reader that ends: status 1 at the sender'
run send 15 --wait 1 < /dev/null
has 1 'nobody receives' 'nobody receives'
run send 16 --wait 1 < "$dir"
has 1 'cannot read' 'input that cannot be read'
mkfifo "$dir/held"
start late recv 17 # not a name that has an output already: appears might see that
recv=$started
(exec 3<> "$dir/held"; head -c 50000 "$dir/in" >&3; exec "$dir/phx" send 17 <&3 2> /dev/null 3>&-) &
sender=$!
pids="$pids $sender"
appears . late.out || kill "$recv"
kill -9 "$sender"
wait "$recv"
[ $? = 1 ] && grep -q 'died\|left' "$dir/late.err"
ok $? 'a sender that dies: status 1 at the receiver'
(exec 3<> "$dir/held"; exec "$dir/phx" recv 18 > "$dir/got" 3>&-) &
recv=$!
pids="$pids $recv"
(exec 3<> "$dir/held"; head -c 60000 "$dir/in" >&3; exec "$dir/phx" send 18 <&3 2> "$dir/send.err" 3>&-) &
sender=$!
pids="$pids $sender"
appears . got || kill "$sender"
kill -9 "$recv"
wait "$sender"
[ $? = 1 ] && grep -q 'died\|left' "$dir/send.err"
ok $? 'a receiver that dies: status 1 at the sender'

# ---- Maps

run map
has 0 'graph phoenix {' 'a map for graphviz'
run map --svg
[ "$(grep -c '<circle' "$dir/out")" -ge 3 ] && grep -q '>lab-3<' "$dir/out" \
    && [ "$(tail -1 "$dir/out")" = '</svg>' ]
ok $? 'a map as SVG'
run map --html "$dir/map.html"
grep -q '"label":"lab-3"' "$dir/map.html" && ! grep -Eq 'src=|href=|://[^w]' "$dir/map.html"
ok $? 'a page that needs nothing from outside'
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -n "$chromium" ]; then
    HOME=$dir timeout 60 "$chromium" --headless --no-sandbox --disable-gpu --dump-dom "file://$dir/map.html" \
        > "$dir/out" 2> "$dir/err"
    grep -q '<text[^>]*>lab-3<' "$dir/out" && grep -q '<td class="ok">ok</td>' "$dir/out"
    ok $? 'a browser draws that page'
else
    ok 0 'a browser draws that page # SKIP no chromium'
fi
start serve map --serve 0
serve=$started
appears '^http://127.0.0.1:' serve.out
ok $? 'a server of that page, for this machine'
port=$(sed 's/.*:\([0-9]*\).*/\1/' "$dir/serve.out")
"$dir/web" "$port" GET / > "$dir/out" 2> "$dir/err"
grep -q '200 OK' "$dir/out" && grep -q '</html>' "$dir/out"
ok $? 'GET /'
"$dir/web" "$port" GET /map.json > "$dir/out" 2> "$dir/err"
grep -q '"label":"lab-3"' "$dir/out" && ! grep -qF -e "$(cat "$dir/k")" "$dir/out"
ok $? 'GET /map.json, without the key'
"$dir/web" "$port" POST / > "$dir/out" 2> "$dir/err"
grep -q '405 ' "$dir/out"
ok $? 'POST is refused'
"$dir/web" "$port" GET /../k > "$dir/out" 2> "$dir/err"
grep -q '404 ' "$dir/out"
ok $? 'no other file is shown'

# ---- Doctor

run doctor
has 0 'All is well' 'doctor: all is well'
run doctor --json
has 0 '"kind":"ok"' 'doctor for scripts'
run doctor tcp://127.0.0.1:1
has 1 'nothing listens at that port' 'doctor: refused'
"$dir/phx" key new "$dir/other"
run doctor --key "$dir/other"
has 1 'its key is another one' 'doctor: key'
run doctor --cluster frogs
has 1 'of another cluster' 'doctor: cluster'
run doctor "tcp://127.0.0.1:$port" --wait 3
has 1 'says nothing that Phoenix would' 'doctor: another service'
"$dir/web" silent > "$dir/silent" &
pids="$pids $!"
appears . silent
run doctor "tcp://127.0.0.1:$(cat "$dir/silent")" --wait 1
has 1 'says nothing' 'doctor: a port that says nothing'
run doctor tcp://no-such-host.invalid:7000
has 1 'does not resolve' 'doctor: a name that does not resolve'
run doctor frog
has 1 'malformed' 'doctor: no address'
PHX_KEY_FILE='' run doctor tcp://192.0.2.1:7000
has 1 'there is no key' 'doctor: no key'
run doctor ssh://nobody@127.0.0.1:1/127.0.0.1:7000 --wait 3
has 1 'ssh' 'doctor: no SSH server'
if [ -n "$tls" ]; then
    run doctor "tls${PHX_JOIN#tcp}"
    has 1 'TLS' 'doctor: TLS on one side'
    start tls hub tls://127.0.0.1:0
    appears 'to join' tls.out
    run doctor "$(sed -n 's/.*--join \(tls[^ ]*\).*/\1/p' "$dir/tls.out")"
    has 0 'All is well' 'doctor: TLS on both'
else
    run doctor "tls${PHX_JOIN#tcp}"
    has 1 'build with -DPHX_TLS' 'doctor: TLS in a build without it'
fi

# In networks of their own, where the system lets users make them: one that is connected with nothing, and one
# whose private address leads out to where nobody answers, as behind a NAT.
alone() { # commands of a shell, words of phx
    commands=$1
    shift
    timeout 30 unshare -rn sh -c "$commands"' && exec "$@"' sh "$dir/phx" "$@" > "$dir/out" 2> "$dir/err"
    status=$?
}
if unshare -rn sh -c 'ip link set lo up' 2> /dev/null; then
    alone : doctor tcp://192.0.2.1:7000
    has 1 'There is no way to that network' 'doctor: no route'
    alone 'ip link set lo up && ip addr add 10.1.0.5/24 dev lo && ip route add default dev lo' \
        doctor tcp://10.2.0.5:7000
    has 1 'NAT on both sides' 'doctor: NAT on both sides'
    alone 'ip link set lo up && ip addr add 10.1.0.5/24 dev lo && ip route add local 10.2.0.5/32 dev lo' \
        doctor tcp://10.2.0.5:7000
    [ "$status" = 1 ] && grep -q refuse "$dir/out" "$dir/err" && ! grep -q NAT "$dir/out" "$dir/err"
    ok $? 'doctor: who refuses is behind no NAT'
else
    ok 0 'doctor: no route # SKIP no leave to make networks'
    ok 0 'doctor: NAT on both sides # SKIP no leave to make networks'
    ok 0 'doctor: who refuses is behind no NAT # SKIP no leave to make networks'
fi

# Another version of the wire format: our own library with another number in it.
sed 's/define PHX__WIRE_VERSION 2u/define PHX__WIRE_VERSION 3u/' phoenix.c > "$dir/other.c"
if ${CC:-cc} -std=c99 -O0 -I. -o "$dir/other_phx" extras/phx/*.c extras/ssh/ssh.c "$dir/other.c" \
    > "$dir/out" 2>&1; then
    "$dir/other_phx" hub tcp://127.0.0.1:0 > "$dir/version.out" 2> "$dir/version.err" &
    pids="$pids $!"
    appears 'to join' version.out
    run doctor "$(sed -n 's/.*--join \(tcp[^ ]*\).*/\1/p' "$dir/version.out")"
fi
has 1 'Phoenix of another version' 'doctor: version'

# Certificates by a CA of ours: good, over, not yet valid, by another CA.
made() {
    cd "$dir" && for ca in ca ca2; do
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=$ca -days 30 \
            -keyout $ca.key -out $ca.pem || return 1
    done
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=n -keyout n.pk -out n.csr \
        || return 1
    printf '%s\n' '[ca]' 'default_ca=c' '[c]' 'database=index' 'serial=serial' 'default_md=sha256' \
        'policy=p' 'new_certs_dir=.' '[p]' 'commonName=supplied' > ca.conf
    : > index && echo 01 > serial
    issue good ca 20200101000000Z 20450101000000Z && issue old ca 20200101000000Z 20210101000000Z &&
        issue early ca 20520101000000Z 20530101000000Z && issue foreign ca2 20200101000000Z 20450101000000Z
}
issue() { # name, CA, from, until
    : > index
    openssl ca -batch -config ca.conf -in n.csr -cert "$2.pem" -keyfile "$2.key" -startdate "$3" \
        -enddate "$4" -notext -out "$1.pem"
}
shown() { # certificate, CA: words of phx
    echo --ca "$dir/$2.pem" --cert "$dir/$1.pem" --cert-key "$dir/n.pk" --loose-key
}
if [ -n "$tls" ] && (made) > "$dir/out" 2> "$dir/err"; then
    start pem hub tls://127.0.0.1:0 $(shown good ca)
    appears 'to join' pem.out
    at=$(sed -n 's/.*--join \(tls[^ ]*\).*/\1/p' "$dir/pem.out")
    run doctor "$at" $(shown good ca)
    has 0 'good until 2045-01-01' 'doctor: certificates that are good'
    run doctor "$at" $(shown old ca)
    has 1 'has expired: it was good until 2021-01-01' 'doctor: an expired certificate'
    run doctor "$at" $(shown early ca)
    has 1 'not valid yet: it is good from 2052-01-01' 'doctor: a certificate of tomorrow'
    run doctor "$at" $(shown foreign ca2)
    has 1 'nobody we trust' 'doctor: another CA'
    run doctor "$at" $(shown foreign ca)
    has 1 'not by the CA' 'doctor: own certificate is not by that CA'
    run doctor "$at" --ca "$dir/n.csr" --cert "$dir/good.pem" --cert-key "$dir/n.pk"
    has 1 'PEM file' 'doctor: no certificate in the file'
    refused 'no node: ' 'ls: an expired certificate' ls --join "$at" $(shown old ca)
else
    for name in good expired tomorrow CA own file ls; do
        ok 0 "doctor: certificates ($name) # SKIP no BearSSL, or no openssl"
    done
fi

kill -9 "$node"
appears 'lab-3 failed' hub.out
ok $? 'a hub says who failed'
failed_is_shown() {
    "$dir/web" "$port" GET /map.json > "$dir/out" 2> "$dir/err"
    tr -d '\n' < "$dir/out" | grep -q '"label":"lab-3","state":"failed".*"events":.*"lab-3","state":"failed"'
}
left=100
until failed_is_shown || [ $left = 0 ]; do left=$((left - 1)); sleep 0.1; done
[ $left -gt 0 ]
ok $? 'so does the page of phx map'

# ---- The end

kill "$serve" "$hub"
wait "$hub"
ok $? 'a hub that is told to end does'
run ls --wait 1
has 1 'phx doctor' 'no hub: one line says where to look on'
echo "1..$count"
[ "$failed" = 0 ]
