#!/bin/sh
# packages.sh - Phoenix from outside: what `make install` puts there, and extras/cmake.
#
# Goal: another project finds header, libraries and version, and its program runs; the shared library exports
# phx_ names only. Method: installs under a folder of this run, and builds README's first program with that.
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$(pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/phoenix.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM HUP
count=0
failed=0
cc=${CC:-cc}

ok() { # status, name
    count=$((count + 1))
    if [ "$1" = 0 ]; then echo "ok $count - $2"; return; fi
    echo "not ok $count - $2"
    failed=$((failed + 1))
    sed 's/^/# /' "$dir/said" | head -20
}

skip() { # name, why
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
}

greets() { # program: two of them find each other
    (cd "$dir" && timeout 20 "$1" 1 2 > one & cd "$dir" && timeout 20 "$1" 2 1 > two; wait) > "$dir/said" 2>&1
    grep -q 'name 1 got: hello' "$dir/one" && grep -q 'name 2 got: hello' "$dir/two"
}

version=$(sed -n 's/^#define PHX_VERSION "\(.*\)"/\1/p' phoenix.h)
port=$((20000 + $$ % 12000))
sed -n '/^```c$/,/^```$/p' README.md | sed '1d;/^```$/,$d' | sed "s/:7000\"/:$port\"/" > "$dir/hello.c"

make -s install CC="$cc" PREFIX="$dir/usr" > "$dir/said" 2>&1
ok $? 'make install'
for f in include/phoenix.h lib/libphoenix.a lib/libphoenix.so lib/pkgconfig/phoenix.pc bin/phx bin/phxrun \
    share/man/man1/phx.1 share/man/man1/phxrun.1; do
    [ -s "$dir/usr/$f" ] || echo "$f is missing" >> "$dir/missing"
done
[ ! -e "$dir/missing" ]
ok $? 'header, libraries, phoenix.pc, commands, man pages'
[ "$("$dir/usr/bin/phx" --version)" = "phx $version" ] \
    && grep -q "^Version: $version\$" "$dir/usr/lib/pkgconfig/phoenix.pc"
ok $? 'one version number'
if command -v nm > /dev/null 2>&1; then
    nm -D --defined-only "$dir/usr/lib/libphoenix.so" > "$dir/said"
    [ "$(grep -c ' T phx_' "$dir/said")" -ge 40 ] && ! grep -vq ' phx_' "$dir/said"
    ok $? 'the shared library exports phx_ only'
else
    skip 'the shared library exports phx_ only' 'no nm'
fi
$cc -std=c99 -I"$dir/usr/include" \
    -o "$dir/static" "$dir/hello.c" "$dir/usr/lib/libphoenix.a" > "$dir/said" 2>&1 \
    && greets "$dir/static"
ok $? "README's program with the static library"
if command -v pkg-config > /dev/null 2>&1; then
    PKG_CONFIG_PATH=$dir/usr/lib/pkgconfig
    export PKG_CONFIG_PATH
    $cc -std=c99 $(pkg-config --cflags phoenix) -o "$dir/shared" "$dir/hello.c" $(pkg-config --libs phoenix) \
        -Wl,-rpath,"$dir/usr/lib" > "$dir/said" 2>&1 && greets "$dir/shared"
    ok $? 'with the shared one, by pkg-config'
else
    skip 'with the shared one, by pkg-config' 'no pkg-config'
fi
if command -v cmake > /dev/null 2>&1; then
    mkdir "$dir/outside"
    cp "$dir/hello.c" "$dir/outside/"
    printf '%s\n' 'cmake_minimum_required(VERSION 3.11)' 'project(outside C)' \
        "add_subdirectory($root/extras/cmake phoenix)" 'add_executable(hello hello.c)' \
        'target_link_libraries(hello PRIVATE phoenix::phoenix)' > "$dir/outside/CMakeLists.txt"
    (cmake -S "$dir/outside" -B "$dir/cmake" && cmake --build "$dir/cmake") > "$dir/said" 2>&1 \
        && greets "$dir/cmake/hello"
    ok $? 'extras/cmake in a project outside'
else
    skip 'extras/cmake in a project outside' 'no cmake'
fi
echo "1..$count"
[ "$failed" = 0 ]
