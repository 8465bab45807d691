#!/bin/sh
# ports.sh - Phoenix on other platforms: another C library, 32 bits, big endian. usage: ports.sh [--quick]
#
# Promise 128. Compiles phoenix.c, without a warning, and runs unit tests as static programs: with musl; for
# i386; for s390x, which is big endian, under qemu; for arm and aarch64 likewise, where their compilers are.
# With --quick only the tests of brains and of the wire run, which touch neither clock nor network;
# otherwise all do that an emulator is not too slow for, and the simulator too. What is missing is named in
# one line and skipped:
#
#     apt-get install musl-tools gcc-i686-linux-gnu libc6-dev-i386-cross gcc-s390x-linux-gnu
#         libc6-dev-s390x-cross qemu-user-static tcc
#
# The words of the wire have the same bytes everywhere: t_spec compares them with those of WIRE.md.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1

brains='t_buf t_map t_timer t_sha t_id t_wire t_spec t_link t_route t_names_rules t_names_random
    t_names_index t_lost t_detect_link t_detect_state t_dial_rounds t_dial_bounds t_dial_targets t_dial_start
    t_handover_brain t_trace_brain t_suspect_brain t_keys_brain t_addr_brain
    t_door_brain t_frames t_dead_brain'
others='t_route_paper t_route_mesh t_crowd t_door t_mem t_torture t_keys t_failures t_endings t_cost t_hand
    t_node t_interface t_os t_hostile t_liar t_log t_patience t_silence t_slow t_trace t_path t_ph'
# minutes under an emulator
slow='t_post_send t_post_names t_post_runs t_post_multicast t_post_flow t_post_model t_post_memory'
case ${1-} in
'') quick=0 ;;
--quick) quick=1 ;;
*)
    echo 'usage: test/ports.sh [--quick]' >&2
    exit 2 ;;
esac

warn='-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wundef -pedantic -Werror'
dir=build/ports
failed=0
missing=
mkdir -p "$dir"
have() { command -v "${1%% *}" > /dev/null 2>&1; }
skip() { # what, why
    echo "ok - $1 # SKIP $2"
    missing="$missing $2"
}
tap() { # status, what
    if [ "$1" = 0 ]; then echo "ok - $2"; else
        echo "not ok - $2"
        failed=1
    fi
}
limit() { timeout -k 5 "${TEST_TIMEOUT:-300}" "$@"; }

compiles() { # compiler and flags
    have "$1" || { skip "phoenix.c with $1" "${1%% *}"; return; }
    $1 -I. -c phoenix.c -o "$dir/phoenix.o" > "$dir/said" 2>&1 && [ ! -s "$dir/said" ]
    tap $? "phoenix.c with $1"
    sed 's/^/# /' "$dir/said"
}

runs() { # compiler, emulator, test
    exe=$dir/$name/$3
    part=extras/${3#t_}/${3#t_}.c
    [ -e "$part" ] || part=
    $1 -std=c99 -O1 -DPHX_DEBUG -w -I. -Isrc -Itest -Itest/unit "test/unit/$3.c" $part \
        "$dir/$name/libphx.a" -static -pthread -lm -o "$exe" > "$exe.said" 2>&1 || {
        tap 1 "$name: $3 compiles"
        sed 's/^/# /' "$exe.said"
        return
    }
    limit $2 "$exe" > "$exe.out" 2>&1
    status=$?
    tap $status "$name: $3, $(grep -c '^ok' "$exe.out") passed"
    [ $status = 0 ] || { grep -v '^ok' "$exe.out" | head -20 | sed 's/^/# /'; }
}

library() { # compiler: src/ once, for all tests
    rm -f "$dir/$name"/*.o "$dir/$name/libphx.a"
    for f in src/*/*.c; do
        object=$(echo "$f" | sed 's|^src/||; s|/|_|g; s|c$|o|')
        $1 -std=c99 -O1 -DPHX_DEBUG -w -I. -Isrc -c "$f" -o "$dir/$name/$object" || break
    done > "$dir/said" 2>&1
    [ ! -s "$dir/said" ] && ar rc "$dir/$name/libphx.a" "$dir/$name"/*.o
    status=$?
    tap $status "$name: the rooms compile"
    return $status
}

port() { # name, compiler, emulator or nothing
    name=$1
    have "$2" || { skip "$name" "$2"; return; }
    if [ -n "$3" ] && ! have "$3"; then skip "$name" "$3"; return; fi
    mkdir -p "$dir/$name"
    compiles "$2 -std=c99 -O2 $warn"
    library "$2" || return
    list=$brains
    [ $quick = 1 ] || list="$brains $others"
    if [ $quick = 0 ] && [ -z "$3" ]; then list="$list $slow"; fi
    for t in $list; do
        [ ! -e "test/unit/$t.c" ] || runs "$2" "$3" "$t"
    done
    case $quick-$name in 0-* | 1-musl | 1-s390x) simulates "$2" "$3" ;; esac
}

# The simulated world must come to the same end on every machine: the trace of a run is a hash of all that
# happened in it. Quick, that is one campaign.
simulates() { # compiler, emulator
    CC=$1 SIM_DIR=$dir/$name/world sh test/sim/run.sh alone > "$dir/said" 2>&1
    tap $? "$name: the simulator builds"
    for run in 'campaign NODES=8 SEED=3' 'cold_start NODES=32' 'moves NODES=8' 'traces NODES=8' \
        'launch_chaos NODES=12'; do
        case $quick-$run in 1-campaign* | 0-*) ;; *) continue ;; esac
        limit $2 "$dir/$name/world/sim" SCENARIO=$run > "$dir/$name/sim.out" 2> /dev/null
        tap $? "$name: sim $run"
        trace=$(grep -o 'trace [0-9a-f]*' "$dir/$name/sim.out")
        key=seen_$(echo "$run" | tr -c 'a-zA-Z0-9\n' _)
        eval "first=\${$key:=\$trace}"
        [ -n "$trace" ] && [ "$first" = "$trace" ]
        tap $? "$name: sim $run: $trace, as elsewhere"
    done
}

# What `make test` compiles in nearly the same way is left out when quick.
for flags in 'gcc -Os' 'gcc -O3 -flto' 'gcc -std=c11 -O2' 'gcc -std=c99 -O2 -DPHX_USE_POLL' 'clang -O2'; do
    case $quick-$flags in 1-gcc\ -std* | 1-clang*) continue ;; esac
    compiles "$flags $warn"
done
compiles tcc
port musl musl-gcc ''
port i386 i686-linux-gnu-gcc ''
port s390x s390x-linux-gnu-gcc qemu-s390x-static
if [ $quick = 0 ]; then
    port armhf arm-linux-gnueabihf-gcc qemu-arm-static
    port aarch64 aarch64-linux-gnu-gcc qemu-aarch64-static
fi
[ -z "$missing" ] || echo "# not here:$missing"
exit $failed
