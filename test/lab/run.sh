#!/usr/bin/env bash
# run.sh - the lab: real processes behind real walls, on this machine, as root.
# usage: run.sh [--quick] [SCENE...]
#
# `make lab` runs all scenes; ONLY=pattern picks by name and RANDOM=MINUTES sets how long the random walls
# last (1). THIRD=0, 1 or 2 takes every third scene, and skips where the machine does not allow it: what a
# build machine does, another third for each commit. --quick is what `make test` does: two scenes and the
# lab's own test, as TAP, and a visible skip where the machine does not allow it. A scene is a process of its
# own (scene.sh) in network namespaces of its own; this process sweeps behind one that was killed, and on
# start behind runs that died as a whole.
#
# Prints a table with tabs: scene, pairs that talk, pairs with a direct link, seconds from the start of the
# first node until all talk, longest silence when a gateway died (killed/silent), how many times as fast as
# ssh -L and as socat a relay is on the same path. Lines "bar NAME FIGURE LIMIT ok|short" are for scripts.
set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.." || exit 1
LAB_BUILD=$PWD/build/lab
export LAB_BUILD
quick=
[ "${1-}" != --quick ] || { quick=1; shift; }

# What is not there for these scenes, in words for whoever can change it; nothing if all is.
lacking() { # scene...
    local missing=() one
    [ "$(uname)" = Linux ] || { echo 'Linux'; return; }
    [ "$(id -u)" = 0 ] || { echo 'root (try: sudo make lab)'; return; }
    while read -r one package; do
        PATH=$PATH:/usr/sbin:/sbin command -v "$one" > /dev/null 2>&1 || missing+=("$package")
    done << 'LIST'
ip iproute2
tc iproute2
nft nftables
sshd openssh-server
ssh openssh-client
LIST
    case " $* " in
        *' relay '*) command -v socat > /dev/null 2>&1 || missing+=(socat) ;;
    esac
    if [ ${#missing[@]} -gt 0 ]; then
        echo "$(printf '%s\n' "${missing[@]}" | sort -u | tr '\n' ' ')(apt-get install ...)"
        return
    fi
    # Containers often let root be root and yet make no namespaces, or lack the modules.
    one=phx$$probe
    if ! ip netns add "$one" 2> /dev/null; then
        echo 'leave to make network namespaces (CAP_SYS_ADMIN)'
        return
    fi
    ip netns exec "$one" nft 'add table ip t;
        add chain ip t c { type nat hook postrouting priority 100; };
        add rule ip t c masquerade fully-random;
        add rule ip t c numgen random mod 100 < 5 drop' 2> /dev/null \
        || echo 'nftables with nat and numgen in the kernel'
    ip -n "$one" link add v0 type veth peer name v1 2> /dev/null || echo 'veth in the kernel'
    ip -n "$one" link add b0 type bridge 2> /dev/null || echo 'bridge in the kernel'
    ip netns del "$one"
}

build() {
    mkdir -p "$LAB_BUILD" || return 1
    # LAB_FLAGS may have changed what the same sources mean.
    local one fresh= flags=
    # Where phoenix.h knows TLS and BearSSL is installed the node speaks it, if a scene asks it to.
    if grep -q '^    int tls;' phoenix.h && [ -e /usr/include/bearssl.h ]; then flags=-DPHX_TLS; fi
    [ "$flags" = "$(cat "$LAB_BUILD/flags" 2> /dev/null)" ] || fresh=no
    for one in phoenix.c phoenix.h extras/ssh/ssh.[ch] extras/launch/*.[ch] extras/ftmpi/lib/arbiter.[ch] \
        extras/phx/*.[ch] test/lab/*.[ch]; do
        [ "$LAB_BUILD/tool" -nt "$one" ] || fresh=no
    done
    [ -n "$fresh" ] || return 0
    "${CC:-cc}" -std=c99 -O2 -g -Wall -Wextra -I. $flags -o "$LAB_BUILD/node" test/lab/node.c \
        test/lab/talk.c extras/ssh/ssh.c phoenix.c ${flags:+-lbearssl} \
        && "${CC:-cc}" -std=c99 -O2 -g -I. -o "$LAB_BUILD/phxrun" phoenix.c \
            $(ls extras/launch/*.c | grep -v /nla.c) extras/ftmpi/lib/arbiter.c extras/ftmpi/lib/start.c \
            extras/ftmpi/lib/modes.c \
        && "${CC:-cc}" -std=c99 -O2 -g -I. $flags -o "$LAB_BUILD/phx" extras/phx/*.c \
            extras/ssh/ssh.c phoenix.c ${flags:+-lbearssl} \
        && "${CC:-cc}" -std=c99 -O1 -I. -o "$LAB_BUILD/pmi1" test/launch/pmi1_client.c \
        && "${CC:-cc}" -std=c99 -O2 -g -Wall -Wextra -o "$LAB_BUILD/tool" test/lab/tool.c \
        && echo "$flags" > "$LAB_BUILD/flags"
}

lab=$LAB_BUILD
. "$here/verbs.sh"

child=
stopped() { # what a signal does: the scene cleans up and we end when it has
    trap '' HUP INT TERM
    if [ -n "$child" ]; then
        kill -TERM "$child" 2> /dev/null
        wait "$child"
        sweep_dead
    fi
    exit 130
}

# One scene; its words go to $log. A scene that was killed cannot sweep, so we do.
play() { # scene
    log=$LAB_BUILD/$1.log
    LAB_SECONDS=$((${MINUTES:-1} * 60)) "$LAB_BUILD/tool" lead timeout -k 10 "$((300 + ${MINUTES:-1} * 60))" \
        bash "$here/scene.sh" "$1" > "$log" 2>&1 < /dev/null &
    child=$!
    wait "$child"
    local status=$?
    child=
    sweep_dead
    return $status
}

shown() { # the log of a failed scene, for people
    sed 's/^/# /' "$log" | tail -n 120
}

table() {
    printf 'scene\tpairs\tdirect\treach_s\trecover_s\tto_ssh\tto_socat\n'
}

scenes() { # all that are to be run, with LAB's own pick
    sed -n 's/^scene_\([a-z0-9_]*\)() .*/\1/p' "$here/scenes.sh" "$here/launch.sh" | grep -v '^linger$'
}

picked() { # scene...: those that LAB_ONLY, a part of a name, picks, or every third from LAB_THIRD on
    local one n=-1
    for one; do
        n=$((n + 1))
        [ -z "${LAB_THIRD-}" ] || [ $((n % 3)) = "$LAB_THIRD" ] || continue
        case $one in *${LAB_ONLY-}*) echo "$one" ;; esac
    done
}

# A row of the table for people; in quick mode one line of TAP.
told() { # scene, status
    if [ "$2" -ne 0 ]; then
        bad=1
        echo "not ok - lab $1"
        shown
    elif [ -n "$quick" ]; then
        echo "ok - lab $1: $(sed -n 's/^row\t[^\t]*\t//p' "$log" | tr '\t' ' ')"
    else
        grep -E '^(bar|row)' "$log" | sed 's/^row\t//'
    fi
    [ -z "${V-}" ] || [ "$2" -ne 0 ] || grep '^#' "$log"
}

# What this machine lacks is said in one line: a skip in `make test`, an error when the lab was asked for.
possible() { # scene...
    local why
    why=$(lacking "$@" | head -1)
    [ -n "$why" ] || return 0
    if [ -n "$quick" ]; then
        echo "ok - lab # SKIP wants $why"
        exit 0
    fi
    echo "lab: wants $why"
    [ -n "${LAB_THIRD-}" ]
    exit
}

main() {
    local one
    bad=0
    PATH=$PATH:/usr/sbin:/sbin
    [ -z "$quick" ] || set -- figure1 overlap # two scenes, and the eight tests of ends.sh
    [ $# -gt 0 ] || set -- $(scenes)
    set -- $(picked "$@")
    possible "$@"
    build || { echo 'not ok - lab: build'; exit 1; }
    trap stopped HUP INT TERM
    sweep_dead
    if [ -n "$quick" ]; then echo "1..$(($# + 8))"; else table; fi
    for one; do
        play "$one"
        told "$one" $?
    done
    if [ -n "$quick" ] || [ "${LAB_ONLY-}" = ends ]; then
        log=$LAB_BUILD/ends.log
        "$here/ends.sh" || bad=1
    fi
    exit $bad
}

main "$@"
