#!/usr/bin/env bash
# ends.sh - however a run of the lab ends, nothing of it is left and the machine's own network is as before.
#
# Goal: TERM and INT to the driver, KILL to the scene and KILL to the driver leave no process, namespace
# or directory; and leftovers of a run that could not do that are swept by the next. Method: plays the
# scene "linger", which stays until it is killed, ends it in each of these ways, and looks. Called by
# run.sh, which has built and checked all that is needed; LAB_BUILD is where. Says TAP.
set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/phxends.XXXXXX") || exit 1
driver=
cleanup() {
    [ -z "$driver" ] || kill -TERM "$driver" 2> /dev/null
    rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 130' HUP INT TERM
number=0 bad=0

ok() { # status, name
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $number - lab ends: $2"
    else
        bad=1
        echo "not ok $number - lab ends: $2"
        sed 's/^/# /' "$dir/out" "$LAB_BUILD/linger.log" 2> /dev/null | tail -n 20
    fi
}

# The machine's own network: interfaces, addresses, routes and rules.
own() { ip -o link; ip -o addr; ip route; nft list ruleset; }

# Starts a run and waits until its nodes talk: $driver, and $scene is the number in its names.
start() {
    local tries=0
    : > "$LAB_BUILD/linger.log"
    # Through the tool, because a shell starts its background deaf to INT.
    TMPDIR=$dir "$LAB_BUILD/tool" lead "$here/run.sh" linger > "$dir/out" 2>&1 &
    driver=$!
    until grep -q '^# lingering as' "$LAB_BUILD/linger.log"; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] && kill -0 $driver 2> /dev/null || { ok 1 'a scene is being played'; exit 1; }
        sleep 0.1
    done
    scene=$(sed -n 's/^# lingering as //p' "$LAB_BUILD/linger.log")
}

left() { # what is there of the scene now: namespaces, files, processes
    find /run/netns -name "phx$scene*" 2> /dev/null
    find "$dir" -name 'phx[0-9]*'
    # Its nodes carry its directory in their arguments.
    grep -lsa "^[^ ]*node.-s.$dir/phx" /proc/[0-9]*/cmdline
}

gone() { # up to ten seconds until nothing is left
    local tries=0
    while [ -n "$(left)" ]; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || { left >> "$dir/out"; return 1; }
        sleep 0.1
    done
}

own > "$dir/before"
start
[ -n "$(left | grep netns)" ] && [ -n "$(left | grep cmdline)" ] && [ -n "$(left | grep "^$dir")" ]
ok $? 'a scene has namespaces, processes and a directory'
own > "$dir/during"
cmp -s "$dir/before" "$dir/during"
ok $? "the machine's own network is not touched"
for signal in TERM INT; do
    [ -n "$driver" ] || start
    kill -$signal $driver
    wait $driver 2> /dev/null
    [ $? -eq 130 ] && gone
    ok $? "$signal to the driver leaves nothing"
    driver=
done
start
kill -KILL "$scene"
wait $driver 2> /dev/null
[ $? -eq 1 ] && gone
ok $? 'KILL to the scene leaves nothing and is a failure'
start
kill -KILL $driver
wait $driver 2> /dev/null
gone
ok $? 'KILL to the driver leaves nothing'
driver=
# Names of a run that nobody could clean up: its number is that of a process that is no more.
true &
dead=$!
wait $dead
ip netns add "phx${dead}a"
scene=$dead
"$here/run.sh" no_such_scene > "$dir/out" 2>&1
gone
ok $? 'leftovers of dead runs are swept by the next'
own > "$dir/after"
cmp -s "$dir/before" "$dir/after"
ok $? "the machine's own network is as before"
exit $bad
