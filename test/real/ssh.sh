#!/bin/sh
# ssh.sh - extras/ssh against a real sshd: a link through it, its death, and each way in which it can fail.
#
# Goal: promise 4. Two nodes that can reach each other only through an SSH server exchange messages; when
# its session is killed that is noticed, dialled again, and nothing is lost or comes twice. When it can't
# work, the cause is reported in ssh's own words and the node goes on.
# Method: an sshd of our own on a loopback port, with keys and configuration in a directory that goes
# away, started as the current user; the nodes are ssh_node.c. Node 1 keeps its address to itself, so
# node 2 has no other way. It waits for lines of output, with a bound, and never for a time.
set -u
cd "$(dirname "$0")/../.." || exit 1
. extras/launch/procs.sh
sshd=$(command -v sshd || for f in /usr/sbin/sshd /usr/local/sbin/sshd; do [ -x $f ] && echo $f; done)
if [ -z "$sshd" ] || ! command -v ssh >/dev/null || ! command -v ssh-keygen >/dev/null; then
    echo '1..0 # SKIP no sshd, ssh or ssh-keygen (Debian: openssh-server, openssh-client)'
    exit 0
fi
if [ "$(id -u)" -eq 0 ] && [ ! -d /run/sshd ] && ! mkdir -m 755 /run/sshd 2>/dev/null; then
    echo '1..0 # SKIP root needs /run/sshd for sshd, and it cannot be made'
    exit 0
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/phoenix.XXXXXX") || exit 1
pids=
finish() {
    for pid in $pids; do kill "$pid" 2>/dev/null; done
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP
number=0
bad=0
ok() { # status, name, files to show if it failed
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $number - $2"
    else
        bad=1
        echo "not ok $number - $2"
        shift 2
        for f in "$@"; do sed "s|^|# $(basename "$f"): |" "$f" | tail -20; done
    fi
}
until_line() { # file, pattern[, how often]: waits up to 20 s for so many such lines
    i=0
    while seen=$(grep -c -e "$2" "$1" 2>/dev/null); [ "${seen:-0}" -lt "${3:-1}" ]; do
        i=$((i + 1))
        [ $i -lt 400 ] || return 1
        sleep 0.05
    done
}
count() { grep -c -e "$2" "$1"; }

# ---- A server -------------------------------------------------------------------------------------

serve() { # name, more configuration: sshd on a free port, in $port; its log in $dir/NAME.log
    tries=0
    while [ $tries -lt 20 ]; do
        port=$((20000 + ($$ * 7 + tries * 131 + $(date +%s)) % 40000))
        printf '%s\n' "Port $port" 'ListenAddress 127.0.0.1' "HostKey $dir/host_key" 'UsePAM no' \
            "AuthorizedKeysFile $dir/client_key.pub" 'StrictModes no' 'PasswordAuthentication no' \
            'KbdInteractiveAuthentication no' "PidFile $dir/$1.pid" "$2" >"$dir/$1.conf"
        "$sshd" -D -e -f "$dir/$1.conf" 2>"$dir/$1.log" &
        server=$!
        pids="$pids $server"
        until grep -q 'Server listening' "$dir/$1.log" 2>/dev/null; do
            kill -0 $server 2>/dev/null || break
            sleep 0.05
        done
        grep -q 'Server listening' "$dir/$1.log" && return 0
        tries=$((tries + 1))
    done
    return 1
}

ssh-keygen -q -t ed25519 -N '' -f "$dir/host_key" && ssh-keygen -q -t ed25519 -N '' -f "$dir/client_key" &&
    ssh-keygen -q -t ed25519 -N '' -f "$dir/other_key" && serve server '' || {
    echo '1..0 # SKIP sshd does not start here:' "$(tail -1 "$dir/server.log" 2>/dev/null)"
    exit 0
}
good=$port
printf '[127.0.0.1]:%s %s\n' "$good" "$(cut -d' ' -f1,2 "$dir/host_key.pub")" >"$dir/known"
: >"$dir/empty"
options() { echo "-Fnone -oUserKnownHostsFile=$dir/$1 -oGlobalKnownHostsFile=/dev/null \
-oStrictHostKeyChecking=yes -oIdentitiesOnly=yes -oIdentityAgent=none -i$dir/$2"; }

# Some accounts may not log in at all (locked, or without a shell); then nothing below says anything of ours.
if ! ssh $(options known client_key) -oBatchMode=yes -p "$good" 127.0.0.1 true >"$dir/plain" 2>&1; then
    echo "1..0 # SKIP this account cannot log in by plain ssh: $(tail -1 "$dir/plain")"
    exit 0
fi

# ---- Nodes ----------------------------------------------------------------------------------------

echo "1..18"
${CC:-cc} -std=c99 -O2 ${CFLAGS-} -I. -o "$dir/node" test/real/ssh_node.c extras/ssh/ssh.c \
    "${PHOENIX_O:-phoenix.c}" >"$dir/cc.out" 2>&1
ok $? 'ssh_node.c and extras/ssh compile' "$dir/cc.out"
[ -x "$dir/node" ] || exit 1
awk '/^```c$/ { in_it = 1; next } /^```$/ { in_it = 0 } in_it' extras/ssh/README.md >"$dir/through.c"
${CC:-cc} -std=c99 -Wall -Wextra -Werror -I. -o "$dir/through" "$dir/through.c" extras/ssh/ssh.c phoenix.c \
    >"$dir/cc.out" 2>&1
ok $? 'the program of README.md compiles' "$dir/cc.out"

begin() { # number, then its arguments: a node with its commands at $dir/NUMBER.in
    name=$1
    shift
    mkfifo "$dir/$name.in"
    "$dir/node" "$@" <"$dir/$name.in" >"$dir/$name.out" 2>&1 &
    pids="$pids $!"
}
tell() { echo "$2" >&"$1"; } # descriptor, command
begin 1 1 hidden:tcp://127.0.0.1:0 -
exec 3>"$dir/1.in"
until_line "$dir/1.out" '^listening tcp://'
ok $? 'node 1 listens' "$dir/1.out"
target=$(sed -n 's|^listening tcp://||p' "$dir/1.out")
begin 2 2 - "ssh://127.0.0.1:$good/$target" ssh $(options known client_key)
exec 4>"$dir/2.in"
until_line "$dir/2.out" 'ssh://.*: up'
ok $? 'a link through the SSH server' "$dir/2.out" "$dir/server.log"
tell 3 'send 2 20'
tell 4 'send 1 20'
until_line "$dir/1.out" '^got 2 ' 20 && until_line "$dir/2.out" '^got 1 ' 20
ok $? 'messages both ways' "$dir/1.out" "$dir/2.out"

# The session is the child of our server that is there now (its own children are of no interest).
victims=$(children "$server")
tell 3 'send 2 20'
kill -9 $victims 2>/dev/null
tell 4 'send 1 20'
tell 3 'send 2 20'
until_line "$dir/2.out" 'ssh://.*: down'
ok $? 'the death of the session is noticed' "$dir/2.out"
until_line "$dir/2.out" '^report the connection with the SSH server broke: .'
ok $? 'and reported in the words of ssh' "$dir/2.out"
until_line "$dir/2.out" 'ssh://.*: up' 2
ok $? 'it is dialled again' "$dir/2.out"
until_line "$dir/1.out" '^got 2 ' 40 && until_line "$dir/2.out" '^got 1 ' 60
ok $? 'and what was sent meanwhile arrives' "$dir/1.out" "$dir/2.out"
[ "$(count "$dir/1.out" '^bad')" -eq 0 ] && [ "$(count "$dir/2.out" '^bad')" -eq 0 ]
ok $? 'once, and in order' "$dir/1.out" "$dir/2.out"

tell 4 quit
until_line "$dir/2.out" '^children 0'
ok $? 'a node that leaves has collected its children' "$dir/2.out"

# ---- exec: a node at the end of a pipe -------------------------------------------------------------

begin 5 5 - "ssh://127.0.0.1:$good/exec:$dir/node 6 stdio -" ssh $(options known client_key)
exec 5>"$dir/5.in"
tell 5 'send 6 5'
until_line "$dir/5.out" '^done 5 success'
ok $? 'a command over there that is itself a node' "$dir/5.out"
tell 5 quit
until_line "$dir/5.out" '^children 0'
ok $? 'and it ends with its tunnel' "$dir/5.out"

# ---- What can be wrong -----------------------------------------------------------------------------

fails() { # number, address, what is reported, program and arguments; stays up: it can still be told to quit
    name=$1 address=$2 pattern=$3
    shift 3
    begin "$name" "$name" - "$address" "$@"
    exec 6>"$dir/$name.in"
    # Twice: it is dialled again, and the node has not given up.
    until_line "$dir/$name.out" "^report $pattern" 2
    ok $? "$(echo "$pattern" | cut -d: -f1)" "$dir/$name.out"
    tell 6 quit
    exec 6>&-
}
known=$(options known client_key)
fails 7 "ssh://127.0.0.1:$good/$target" 'host key unknown or changed: .*Host key verification failed' \
    ssh $(options empty client_key)
fails 8 "ssh://127.0.0.1:$good/$target" 'permission denied by the SSH server: .*Permission denied' \
    ssh $(options known other_key)
fails 9 "ssh://127.0.0.1:$good/127.0.0.1:1" \
    'the SSH server cannot connect to the target: .*refused' ssh $known
fails 10 "ssh://127.0.0.1:$good/$target" 'the ssh program cannot be run: No such file' "$dir/no_such_ssh"
serve strict 'AllowTcpForwarding no'
printf '[127.0.0.1]:%s %s\n' "$port" "$(cut -d' ' -f1,2 "$dir/host_key.pub")" >>"$dir/known"
fails 11 "ssh://127.0.0.1:$port/$target" \
    'the SSH server does not allow forwarding: .*administratively prohibited' ssh $known
exit $bad
