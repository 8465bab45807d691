#!/bin/sh
# coverage.sh - which lines of src/ the unit tests of the rooms run: make coverage ONLY='t_route t_names'
#
# Each file of src/ is built with gcc --coverage, with TLS where there is BearSSL, the unit tests run, JOBS at
# a time (2), some once more over TLS, and gcov says of each room how many of its lines were reached, and of
# its branches; V=1 names the lines that were not. Bar: 97 % of the lines of the brains.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
command -v gcov > /dev/null || { echo '# coverage: no gcov here'; exit 0; }
out=build/coverage
tls= libraries='-pthread -lm'
if [ -e /usr/include/bearssl.h ]; then tls=-DPHX_TLS libraries="$libraries -lbearssl"; fi
cc="${CC:-gcc} -std=c99 -O0 -g -DPHX_DEBUG $tls -Wno-unused-function -I. -Isrc -Itest -Itest/unit --coverage"

object() { echo "$out/$(echo "${1#src/}" | tr / _ | sed 's/c$/o/')"; }

# A test by the name of its file, perhaps with "over_" before it: once more over TLS.
one() {
    name=${1#over_} extra= over=
    [ "$1" = "$name" ] || over=-DT_OVER_TLS
    [ ! -e "extras/${name#t_}/${name#t_}.c" ] || extra=extras/${name#t_}/${name#t_}.c
    if ! $cc $over "test/unit/$name.c" $extra "$out/libphx.a" $libraries -o "$out/$1" 2> "$out/$1.said"; then
        echo "# $1: not built, see $out/$1.said"
    elif ! timeout 900 "$out/$1" > "$out/$1.said" 2>&1; then
        echo "# $1: failed, see $out/$1.said"
    fi
}

case ${1-} in
object) $cc -c "$2" -o "$(object "$2")"; exit ;;
one) one "$2"; exit ;;
esac

rm -rf "$out"
mkdir -p "$out"
jobs=${JOBS:-2}
ls src/*/*.c | xargs -P "$jobs" -n 1 sh test/coverage.sh object
ar rc "$out/libphx.a" "$out"/*.o
for t in test/unit/t_*.c; do
    name=$(basename "$t" .c)
    wanted=${ONLY:-yes}
    for word in ${ONLY-}; do
        case $name in *"$word"*) wanted=yes ;; esac
    done
    [ "$wanted" = yes ] || continue
    case $name in
    t_route_paper | t_node_poll | t_node_kqueue) continue ;; # these choose what phoenix.c is
    t_endings | t_torture | t_near) [ -z "$tls" ] || echo "over_$name" ;;
    esac
    echo "$name"
done | xargs -P "$jobs" -n 1 sh test/coverage.sh one

for f in src/*/*.c; do
    o=$(object "$f")
    [ -e "${o%.o}.gcda" ] && gcov -b -o "$o" "$f" 2> /dev/null | awk -v f="$f" '
        /^File/ { mine = index($0, f) > 0 }
        mine && /^Lines executed/ { split($0, part, /[:% ]+/); lines = part[3]; all = part[5] }
        mine && /^Taken at least/ { split($0, part, /[:% ]+/); taken = part[5]; of = part[7] }
        END { printf "%s %.0f %d %.0f %d\n", f, lines * all / 100, all, taken * of / 100, of }'
    for g in ./*.gcov; do
        [ "$g" != "./$(basename "$f").gcov" ] || mv "$g" "${o%.o}.gcov"
        rm -f "$g"
    done
done > "$out/files"
awk '
    {
        split($1, part, "/"); room = part[2]
        reached[room] += $2; lines[room] += $3; taken[room] += $4; of[room] += $5
    }
    END {
        for (room in lines) {
            printf "# %-8s %5d of %5d lines, %5.1f %%; branches %5.1f %%\n", room, reached[room], lines[room],
                100 * reached[room] / lines[room], 100 * taken[room] / (of[room] + !of[room])
            if (room ~ /^(route|detect|names|dial|post)$/) { brains += reached[room]; all += lines[room] }
        }
        share = (all > 0) ? 100 * brains / all : 0
        printf "bar\tcoverage: percent of the lines of the brains, at least\t%.1f\t97\t%s\n", share,
            (share >= 97 ? "ok" : "short")
    }' "$out/files" | sort
[ -z "${V-}" ] || grep -H '#####' "$out"/*.gcov | sed "s|$out/||"
