#!/bin/sh
# memory.sh - each allocation of the launcher's brains fails once: PHX_ENOMEM, and nothing leaks.
#
# Method: memory.c with the brains that place a job, compiled with names of its own for malloc, calloc and
# realloc, under the sanitizers if there are some.
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d "${TMPDIR:-/tmp}/phxrun.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM HUP
cc=${CC:-cc}

sane='-fsanitize=address,undefined -fno-sanitize-recover=all'
echo 'int main(void) { return 0; }' > "$dir/sane.c"
{ $cc $sane "$dir/sane.c" -o "$dir/sane" && "$dir/sane"; } > /dev/null 2>&1 || sane=

# phx_version is all that the plan wants of phoenix.c.
cat > "$dir/rest.c" <<'EOF'
#include "phoenix.h"
const char *phx_version(void) { return PHX_VERSION; }
EOF
cat > "$dir/fail.h" <<'EOF'
#include <stdlib.h>
void *fail_malloc(size_t size);
void *fail_calloc(size_t count, size_t size);
void *fail_realloc(void *old, size_t size);
#define malloc fail_malloc
#define calloc fail_calloc
#define realloc fail_realloc
EOF

flags="-std=c99 -D_POSIX_C_SOURCE=200809L -g -O1 $sane -I. -Itest/unit"
objects=
for f in options args plan place hosts job bytes text file spawn; do
    $cc $flags -include "$dir/fail.h" -c "extras/launch/$f.c" -o "$dir/$f.o" || exit 1
    objects="$objects $dir/$f.o"
done
$cc $flags test/launch/memory.c "$dir/rest.c" extras/ftmpi/lib/modes.c $objects -o "$dir/memory" || exit 1

printf 'a:2\nb:2 via=g user=me\nc[1-2]\ng\n' > "$dir/hosts"
printf -- "-n 2 ./a 'x y'\n-n 7 ./b\n" > "$dir/programs"
"$dir/memory" "$dir/hosts" "$dir/programs"
