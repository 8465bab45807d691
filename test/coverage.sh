#!/bin/sh
# coverage.sh - which lines of src/ the unit tests of the rooms run: make coverage ONLY='t_route t_names'
#
# Each file of src/ is built with gcc --coverage, the unit tests run, and gcov says of each room how
# many of its lines were reached, and of its branches; V=1 names the lines that were not. Bar: 97 % of the
# lines of the brains.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
command -v gcov > /dev/null || { echo '# coverage: no gcov here'; exit 0; }
out=build/coverage
rm -rf "$out"
mkdir -p "$out"
cc="${CC:-gcc} -std=c99 -O0 -g -DPHX_DEBUG -Wno-unused-function -I. -Isrc -Itest -Itest/unit"
for f in src/*/*.c; do
    $cc --coverage -c "$f" -o "$out/$(echo "${f#src/}" | tr / _ | sed 's/c$/o/')"
done
ar rc "$out/libphx.a" "$out"/*.o
for t in test/unit/t_*.c; do
    wanted=${ONLY:-yes}
    for word in ${ONLY-}; do
        case $t in *"$word"*) wanted=yes ;; esac
    done
    [ "$wanted" = yes ] || continue
    name=$(basename "$t" .c) extra=
    [ ! -e "extras/${name#t_}/${name#t_}.c" ] || extra=extras/${name#t_}/${name#t_}.c
    case $name in
    t_route_paper | t_tls | t_tls_openssl) continue ;; # these choose what phoenix.c is
    esac
    if ! $cc "$t" $extra "$out/libphx.a" --coverage -pthread -lm -o "$out/$name" 2> "$out/$name.said"; then
        echo "# $name: not built, see $out/$name.said"
    elif ! timeout 300 "$out/$name" > "$out/$name.said" 2>&1; then
        echo "# $name: failed, see $out/$name.said"
    fi
done
for f in src/*/*.c; do
    object=$(echo "${f#src/}" | tr / _ | sed 's/c$/o/')
    [ -e "$out/${object%.o}.gcda" ] && gcov -b -o "$out/$object" "$f" 2> /dev/null | awk -v f="$f" '
        /^File/ { mine = index($0, f) > 0 }
        mine && /^Lines executed/ { split($0, part, /[:% ]+/); lines = part[3]; all = part[5] }
        mine && /^Taken at least/ { split($0, part, /[:% ]+/); taken = part[5]; of = part[7] }
        END { printf "%s %.0f %d %.0f %d\n", f, lines * all / 100, all, taken * of / 100, of }'
    for g in ./*.gcov; do
        [ "$g" != "./$(basename "$f").gcov" ] || mv "$g" "$out/${object%.o}.gcov"
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
