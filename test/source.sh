#!/bin/sh
# source.sh - checks that the sources keep to our conventions, and first that it would notice if not.
#
# source.awk finds; this file says what is read, makes a TAP line of every rule, and feeds each rule
# something bad that it must find. Needs sh, awk and the usual small tools only.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.."
root=$PWD
scratch=build/source.$$
mkdir -p "$scratch" || exit 1
trap 'rm -rf "$root/$scratch"' EXIT
trap 'exit 1' HUP INT TERM

tab=$(printf "\t")

tap() { echo "$1 - $2"; } # ok | "not ok", what; numbered at the end

# What the rules find in the tree that stands in the directory $1.
findings() {
    (
        cd "$1" || exit 1
        files=$(find phoenix.h amalgamate.sh .ci src test examples extras -type f \
            \( -name '*.[ch]' -o -name '*.sh' -o -name '*.awk' -o -path '.ci/run' \) 2>/dev/null | sort)
        # No file name here contains a blank.
        [ -z "$files" ] || awk -f "$root/test/source.awk" $files
    )
}

# ---- Would it notice? ----------------------------------------------------------------------------------

fresh() { # an empty tree, with standard input as the file $1 in it
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/$(dirname "$1")"
    cat > "$scratch/tree/$1"
}

fires() { # rule, file: standard input, put there, breaks the rule
    fresh "$2"
    if findings "$scratch/tree" | grep -q "^$1$tab" 2>/dev/null; then
        tap ok "self-check: $1 fires on $2"
    else
        tap 'not ok' "self-check: $1 fires on $2"
        sed 's/^/# /' "$scratch/tree/$2" | head -5
    fi
}

silent() { # file: standard input, put there, breaks nothing
    fresh "$1"
    findings "$scratch/tree" > "$scratch/out"
    if [ -s "$scratch/out" ]; then
        tap 'not ok' "self-check: nothing fires on a good $1"
        sed 's/^/# /' "$scratch/out"
    else
        tap ok "self-check: nothing fires on a good $1"
    fi
}

room() { printf '/* %s - a test. */\n%s\n' "$1" "$2"; }      # a whole file: name, rest
body() { room "$1" "int phx__f(void);
int phx__f(void)
{
    $2
}"; }                                                        # a file with one function: name, statement
lines() { awk -v n="$1" 'BEGIN { while (n-- > 0) print "    f();" }' < /dev/null; }

self_check() {
    room mem.c "int x; /* $(lines 20 | tr -d "\n") */" | fires line-length src/base/mem.c
    room t_a.c "/* $(lines 16 | tr -d '\n') */" | fires line-length test/unit/t_a.c
    body mem.c "$(lines 69)" | fires function-length src/base/mem.c
    room mem.c 'int phx__f(void) {
}' | fires function-length src/base/mem.c
    room mem.c "$(lines 1000)" | fires file-length src/base/mem.c
    room id.c '' | fires first-line src/base/mem.c
    printf '/* mem.c - a test\n * that goes on. */\n' | fires first-line src/base/mem.c
    for call in strcpy strcat sprintf vsprintf sscanf atoi rand srand random time gettimeofday alloca \
        strtok gets printf fprintf puts abort exit signal; do
        body buf.c "$call(1);" | fires banned-call src/base/buf.c
    done
    for call in malloc calloc realloc free; do
        body buf.c "x = $call (1);" | fires allocator src/base/buf.c
    done
    body timer.c 'clock_gettime(0, 0);' | fires clock src/base/timer.c
    for path in sys/socket.h netinet/in.h arpa/inet.h sys/epoll.h netdb.h unistd.h; do
        room link.c "#include <$path>" | fires socket-header src/link/link.c
    done
    room os.c '#include <pthread.h>' | fires socket-header src/os/os.c
    room route.c '#include "link.h"' | fires arrow src/route/route.c
    room route_paper.c '#include "post.h"' | fires arrow src/route_paper.c
    room post_hold.h '#include "sha.h"' | fires arrow src/post_hold.h
    room flow.c '#include "os.h"' | fires arrow src/post/flow.c
    room link.c '#include "route.h"' | fires arrow src/link/link.c
    room buf.c '#include "route.h"' | fires arrow src/base/buf.c
    room link.c '#include "phx.h"' | fires arrow src/link/link.c
    room attic.c '' | fires arrow src/attic.c
    room buf.c '#include "attic.h"' | fires arrow src/base/buf.c
    room buf.c '# include "mem.h"' | fires include-form src/base/buf.c
    room buf.c '#include "../src/base/mem.h"' | fires include-form src/base/buf.c
    room hello.c '#include "../src/base/mem.h"' | fires public-only examples/hello.c
    room hello.c '#include "../phoenix.c"' | fires public-only examples/hello.c
    room map.c '#include "mem.h"' | fires public-only extras/map/map.c
    room map.c '#include "extras/ph/ph.h"' | fires public-only extras/map/map.c
    room mem.c 'static int counter;' | fires global src/base/mem.c
    room mem.c 'static int counter = 1;' | fires global src/base/mem.c
    room mem.c 'static const char *names[2] = { 0 };' | fires global src/base/mem.c
    room mem.c 'static int (*hook)(void);' | fires global src/base/mem.c
    room mem.c 'int counter;' | fires global src/base/mem.c
    room mem.c 'struct phx__mem all[4];' | fires global src/base/mem.c
    body mem.c 'static int counter = 0;' | fires global src/base/mem.c
    body mem.c "${tab}f();" | fires tab src/base/mem.c
    body mem.c 'f(); ' | fires trailing-blank src/base/mem.c
    for word in TO''DO FIX''ME XX''X HA''CK; do
        body mem.c "f(); /* $word: more */" | fires unfinished src/base/mem.c
    done
    room mem.c 'static int twice(int x)' > "$scratch/other"
    fresh src/base/mem.c < "$scratch/other"
    room buf.c 'static int twice(int x)' > "$scratch/tree/src/base/buf.c"
    if findings "$scratch/tree" | grep -q "^static-name$tab"; then tap ok 'self-check: static-name fires'
    else tap 'not ok' 'self-check: static-name fires'; fi

    silent src/route_paper.c <<'EOF'
/* route_paper.c - a test. */
#include "route_paper.h"
#include "route.h"
#include "mem.h"
#include <string.h>

/* malloc(1) and printf("x") in a comment; so is
 * strcpy(a, b). */
static const unsigned char table[256] = {0};
static const char *const names[] = {"malloc(1)", "it's \" free(x)", 0};
static int (*const hook)(void) = 0;
struct phx__route;
static int route_twice(int x);
static int route_twice(int x)
{
    char quote = '"';
    phx__mem_free(x, quote);
    p->os.random(p->os.world, 1); // exit(1)
    p->os.free(0);
    snprintf(a, sizeof a, "%d", run_time(x));
    return 2 * x;
}
EOF
    silent src/base/mem.c <<'EOF'
/* mem.c - a test. */
#include "mem.h"
static void *mem_default(void *world, size_t size)
{
    free(world);
    return malloc(size);
}
EOF
    body buf.c "$(lines 68)" | silent src/base/buf.c
    room hello.c '#include "../phoenix.h"' | silent examples/hello.c
    room hello.c '#include "extras/ph/ph.h"' | silent examples/hello.c
    room os.c '#include <sys/socket.h>' | silent src/os/os.c
    room phx_step.c '#include "phx.h"
#include "route.h"' | silent src/phx_step.c
    room t_a.c 'static int counter;
#include "../../src/base/mem.h"' | silent test/unit/t_a.c
}

# ---- And now the sources -------------------------------------------------------------------------------

check_sources() {
    findings . > "$scratch/all"
    for rule in line-length function-length file-length first-line banned-call allocator clock socket-header \
        arrow include-form public-only global static-name tab trailing-blank unfinished; do
        grep "^$rule$tab" "$scratch/all" > "$scratch/out"
        report "sources: $rule"
        grep -v "^$rule$tab" "$scratch/all" > "$scratch/rest"
        mv "$scratch/rest" "$scratch/all"
    done
    mv "$scratch/all" "$scratch/out"
    report 'sources: no rule but these'
    [ -e src/base/base.h ] && [ -e phoenix.h ] || echo "none${tab}no src/base/base.h or no phoenix.h" > "$scratch/out"
    report 'sources: found'
}

report() { # what: good if nothing is left in out
    if [ -s "$scratch/out" ]; then tap 'not ok' "$1"; else tap ok "$1"; fi
    cut -f 2- "$scratch/out" | sed 's/^/# /'
}

# Numbers the TAP lines, since those inside a pipe cannot count together; fails if one of them does.
{ self_check; check_sources; } | awk '
    /^ok - / { print "ok " ++n substr($0, 3); next }
    /^not ok - / { print "not ok " ++n substr($0, 7); bad = 1; next }
    { print }
    END { print "1.." n; exit bad }'
