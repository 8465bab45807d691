#!/bin/sh
# source.sh - checks that the sources keep to our conventions, and first that it would notice if not.
#
#     test/source.sh            TAP: a line for each rule, and before them for each self-check
#     test/source.sh findings   what each rule finds, "rule<TAB>file:line: what", without self-checks
#     test/source.sh counts     totals of src/, "name<TAB>number"; see sizes.sh
#
# source.awk finds; this file says what is read, makes a TAP line of every rule, and feeds each rule
# something bad that it must find. Needs sh, awk and the usual small tools only. The rules are
#
#     arrow          rooms: base uses base; wire base; hands (os, tls, link) these and each other; brains
#                    (route, detect, names, dial, post) base and wire; node all; nobody uses node
#     stair          a file includes, calls and names only what stands before it in the list of amalgamate.sh,
#                    inside a room too
#     include-form   #include "room/file.h" from column 0, and the guard PHX_ROOM_FILE_H
#     prefix         a function shared between files is phx__room_file_..., in room/room.c phx__room_..., and
#                    in base phx__file_...
#     unshared       what only its own file calls is static; tests do not count
#     static-name    a static function's name is unique, since all files are joined into one
#     struct-size    no struct grows without end
#     citation       a comment cites only what the repository holds
#
# and those whose names say it all: line-length function-length file-length first-line banned-call allocator
# clock socket-header public-only global tab trailing-blank unfinished.
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

# What the rules find in the tree that stands in the directory $1; or, with count=1 behind it, the totals. A
# tree of the self-checks has no list of its own.
findings() {
    order=$root/$scratch/stair
    if [ -e "$1/amalgamate.sh" ]; then
        order=$root/$scratch/order
        sh "$1/amalgamate.sh" --list > "$order" || echo "stair${tab}amalgamate.sh:1: printed no list"
    fi
    (
        cd "$1" || exit 1
        files=$(find phoenix.h amalgamate.sh .ci src test examples extras -type f \
            \( -name '*.[ch]' -o -name '*.sh' -o -name '*.awk' -o -path '.ci/run' \) 2>/dev/null | sort)
        # No file name here contains a blank.
        [ -z "$files" ] || awk -v order="$order" -v "${2:-count=0}" -f "$root/test/source.awk" $files
    )
}

# ---- Would it notice? ----------------------------------------------------------------------------------

# The stair of the trees below. Its headers stand in another order than its sources at base/id and wire/data.
stair() {
    above='os/poll os/os link/link route/table route/route route/advert post/flow post/post'
    for f in base/base base/mem base/buf base/timer base/id base/sha wire/wire $above wire/data node/state; do
        echo "src/$f.h"
    done
    for f in base/mem base/buf base/timer base/sha base/id wire/wire wire/data $above node/addr node/step; do
        echo "src/$f.c"
    done
}

fresh() { # an empty tree, with standard input as the file $1 in it
    rm -rf "$scratch/tree"
    also "$1"
}

also() { # standard input as one more file
    mkdir -p "$scratch/tree/$(dirname "$1")"
    cat > "$scratch/tree/$1"
}

fires() { # rule, file: standard input, put there, breaks the rule
    fresh "$2"
    expect "$1" "$2"
}

expect() { # rule, what: the tree breaks the rule
    if findings "$scratch/tree" | grep -q "^$1$tab" 2>/dev/null; then
        tap ok "self-check: $1 fires on $2"
    else
        tap 'not ok' "self-check: $1 fires on $2"
        find "$scratch/tree" -type f | while read -r f; do sed 's/^/# /' "$f" | head -5; done
    fi
}

silent() { # file: standard input, put there, breaks nothing
    fresh "$1"
    nothing "$1"
}

nothing() { # what: the tree breaks nothing
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

guarded() { # a whole header: name, guard, rest
    room "$1" "#ifndef $2
#define $2
$3
#endif"
}

shared() { # room/file, function: a header that declares it and a source that defines it
    guard=PHX_$(echo "$1" | tr 'a-z/' 'A-Z_')_H
    guarded "${1#*/}.h" "$guard" "PHX_PRIVATE int
$2(int x, int *y);" | also "src/$1.h"
    room "${1#*/}.c" "#include \"$1.h\"
int $2(int x, int *y)
{
    return x;
}" | also "src/$1.c"
}

calls() { # room/file, function: a source that calls it and defines nothing that others could
    room "${1#*/}.c" "static int ${1#*/}_f(void)
{
    return $2(1, 0);
}" | also "src/$1.c"
}

call_check() { # expect or nothing, rule or '', user, function's file, function
    room phoenix.h '' | fresh phoenix.h
    shared "$4" "$5"
    calls "$3" "$5"
    "$1" $2 "$3 that calls $5"
}

arrow_checks() {
    for bad in route/route:link/link route/route:os/os route/advert:post/post post/flow:route/table \
        link/link:route/route base/buf:wire/wire wire/data:os/os os/os:post/flow link/link:node/state \
        route/route:node/state base/buf:attic/attic base/buf:base/attic; do
        user=${bad%:*}
        room "${user#*/}.c" "#include \"${bad#*:}.h\"" | fires arrow "src/$user.c"
        guarded "${user#*/}.h" "$(echo "PHX_${user}_H" | tr 'a-z/' 'A-Z_')" "#include \"${bad#*:}.h\"" \
            | fires arrow "src/$user.h"
    done
    room cellar.c '' | fires arrow src/cellar/cellar.c
    room buf.c '' | fires arrow src/buf.c
    call_check expect arrow route/route link/link phx__link_f
    call_check expect arrow post/flow route/table phx__route_table_f
    call_check expect arrow link/link route/table phx__route_table_f
    call_check nothing '' link/link os/poll phx__os_poll_f
    call_check nothing '' route/route wire/data phx__wire_data_f
    call_check nothing '' node/step link/link phx__link_f
}

stair_checks() {
    room nowhere.c '' | fires stair src/base/nowhere.c
    room buf.c '#include "base/timer.h"' | fires stair src/base/buf.c
    room table.c '#include "route/advert.h"' | fires stair src/route/table.c
    room data.c '#include "base/timer.h"
#include "wire/wire.h"' | silent src/wire/data.c
    guarded base.h PHX_BASE_BASE_H '#include "base/mem.h"' | fires stair src/base/base.h
    guarded id.h PHX_BASE_ID_H '#include "base/sha.h"' | fires stair src/base/id.h
    room id.c '#include "base/sha.h"' | silent src/base/id.c
    guarded state.h PHX_NODE_STATE_H '#include "post/post.h"' | silent src/node/state.h
    room os.c '#include "os/poll.h"' | silent src/os/os.c
    room poll.c '#include "os/os.h"' | fires stair src/os/poll.c
    call_check expect stair route/table route/advert phx__route_advert_f
    call_check expect stair base/mem base/timer phx__timer_f
    call_check expect stair node/addr node/step phx__node_step_f
    call_check nothing '' route/advert route/table phx__route_table_f
    call_check expect stair os/poll os/os phx__os_f
    call_check nothing '' os/os os/poll phx__os_poll_f
    # The address of a function is a use of it; a struct of its name is none, nor is a comment.
    room phoenix.h '' | fresh phoenix.h
    shared route/advert phx__route_advert_f
    calls post/post nothing
    calls node/step phx__route_advert_f
    room table.c 'static const struct table_ops ops = {phx__route_advert_f};' | also src/route/table.c
    expect stair 'the address of a function that stands later'
    room table.c '/* phx__route_advert_f() */
static int table_f(struct phx__route_advert_f *f)
{
    return f->phx__route_advert_f(1);
}' | also src/route/table.c
    nothing 'struct of a function'\''s name'
}

name_checks() {
    call_check expect prefix route/advert route/table phx__route_f
    call_check expect prefix route/advert route/route phx__advert_f
    call_check expect prefix route/advert route/route phx__route_table_f
    call_check expect prefix route/advert base/mem phx__base_f
    call_check expect prefix route/advert base/mem mem_f
    call_check nothing '' route/advert route/route phx__route_f
    call_check nothing '' route/advert base/mem phx__mem_f
    room phoenix.h '' | fresh phoenix.h
    shared route/route phx__route_f
    expect unshared 'a function that nobody calls'
    room t_a.c 'int main(void) { return phx__route_f(1, 0); }' | also test/unit/t_a.c
    expect unshared 'a function that tests alone call'
    room step.c 'static const struct step_ops ops = {0, phx__route_f};' | also src/node/step.c
    nothing 'function in a table of operations'
    room step.c '' | also src/node/step.c
    guarded route.h PHX_ROUTE_ROUTE_H 'PHX_PRIVATE int phx__route_f(int x, int *y);
#define PHX__ROUTE_G(x) phx__route_f(x, 0)' | also src/route/route.h
    nothing 'function in a macro of its own header'
    guarded mem.h PHX_BASE_MEM_H 'PHX_PRIVATE int phx__mem_gone(void);' | fires unshared src/base/mem.h
    room mem.c 'static int twice(int x)' | fresh src/base/mem.c
    room buf.c 'static int twice(int x)' | also src/base/buf.c
    expect static-name 'two static functions of one name'
}

members() { # how many lines of one member each
    awk -v n="$1" 'BEGIN { while (n-- > 0) print "    int member" n "; /* a; b, c */" }' < /dev/null
}

struct_checks() {
    room mem.c "struct phx__mem {
$(members 31)
};" | fires struct-size src/base/mem.c
    room mem.c "struct phx__mem {
$(members 28)
    struct phx__x *(*f)(int, int), *array[A(1, 2)];
    unsigned bits : 3;
};" | fires struct-size src/base/mem.c
    room mem.c "typedef struct {
$(members 10)
    struct {
$(members 20)
        enum { A, B } c;
    } part[2];
} mem;" | fires struct-size src/base/mem.c
    room mem.c "struct phx__mem {
$(members 27)
    enum { A, B, C, D } kind;
    int (*f)(int a, int b);
    union {
        int in_union;
    } u;
};
struct phx__mem2 {
$(members 30)
};" | silent src/base/mem.c
}

count_check() { # the totals of a small tree
    room phoenix.h '' | fresh phoenix.h
    shared route/table phx__route_table_f # 6 lines of header, 5 of code; 6 of source, 5 of code
    calls base/mem phx__route_table_f     # 5 lines, 4 of code; runs up
    room poll.c "
/* a comment
   that goes on */ int x; // more
struct os_sock {
$(members 7)
};
" | also src/os/poll.c                    # 14 lines, 10 of code
    room t_a.c "$(lines 1000)" | also test/unit/t_a.c
    said=$(findings "$scratch/tree" count=1 | tr '\t\n' ' ;')
    want='lines 31;code 24;functions 2;shared 1;unshared 0;members 7;up 1;long 1;'
    if [ "$said" = "$want" ]; then tap ok 'self-check: counts'
    else tap 'not ok' "self-check: counts: $said"; fi
}

self_check() {
    room mem.c "int x; /* $(lines 20 | tr -d "\n") */" | fires line-length src/base/mem.c
    room t_a.c "/* $(lines 16 | tr -d '\n') */" | fires line-length test/unit/t_a.c
    body mem.c "$(lines 69)" | fires function-length src/base/mem.c
    room mem.c 'int phx__f(void) {
}' | fires function-length src/base/mem.c
    room mem.c "$(lines 1000)" | fires file-length src/base/mem.c
    room t_a.c "$(lines 1000)" | fires file-length test/unit/t_a.c
    room job.c "$(lines 1000)" | fires file-length extras/launch/job.c
    body job.c "$(lines 69)" | fires function-length extras/launch/job.c
    room job.c 'static int counter;' | fires global extras/launch/job.c
    body job.c 'f(); /* see PITFALLS 3 */' | fires citation extras/launch/job.c
    room job.c '#include "base/mem.h"' | fires public-only extras/launch/job.c
    room coll.h '' | also extras/launch/coll.h
    room job.c '#include "coll.h"
#include "../../phoenix.h"
static char *job_copy(const char *s)
{
    return strdup(s);
}' | also extras/launch/job.c
    room tree.c 'static char *job_copy(const char *s)' | also extras/launch/tree.c
    nothing 'file of the launcher'
    room engine.c 'static int counter;' | fires global extras/ftmpi/lib/engine.c
    room engine.c 'struct ftm *ftm_this;' | fires global extras/ftmpi/lib/engine.c
    body engine.c "$(lines 69)" | fires function-length extras/ftmpi/lib/engine.c
    body engine.c 'f(); /* FTMPI.md 4 */' | fires citation extras/ftmpi/lib/engine.c
    room mpi.h '' | fresh extras/ftmpi/mpi.h
    room arbiter.h '' | also extras/ftmpi/lib/arbiter.h
    room proc.h '' | also extras/launch/proc.h
    room mpi_init.c '#include "mpi.h"
struct ftm *ftm_this;' | also extras/ftmpi/lib/mpi_init.c
    room ftmpirun.c '#include "lib/arbiter.h"
#include "../launch/proc.h"' | also extras/ftmpi/ftmpirun.c
    echo '      integer MPI_COMM_WORLD' | also extras/ftmpi/mpif.h
    nothing 'MPI'
    room engine.c '#include "../../launch/proc.h"' | also extras/ftmpi/lib/engine.c
    expect public-only 'the engine that includes a header of the launcher'
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
    arrow_checks
    stair_checks
    name_checks
    room buf.c '# include "base/mem.h"' | fires include-form src/base/buf.c
    room buf.c '#include "../src/base/mem.h"' | fires include-form src/base/buf.c
    room buf.c '#include "mem.h"' | fires include-form src/base/buf.c
    room buf.h '#ifndef PHX_BUF_H
#define PHX_BUF_H' | fires include-form src/base/buf.h
    room buf.h '#ifndef PHX_BASE_BUF_H
#define PHX_BUF_H' | fires include-form src/base/buf.h
    room buf.h 'struct phx__buf;' | fires include-form src/base/buf.h
    guarded buf.h PHX_BASE_BUF_H '#include "base/mem.h"' | silent src/base/buf.h
    struct_checks
    count_check
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
    for page in 'see PITFALLS 3' 'DESIGN.md says so' 'promise 52' 'for promises 5 and 6' 'promise
 * 7'; do
        body mem.c "f(); /* $page */" | fires citation src/base/mem.c
    done
    body mem.c 'f(); /* it promises 16, or 9 bytes; the DESIGNER; not at HOUSEs */' | silent src/base/mem.c
    body mem.c 'f("promise 1", DESIGN);' | silent src/base/mem.c
    for word in TO''DO FIX''ME XX''X HA''CK; do
        body mem.c "f(); /* $word: more */" | fires unfinished src/base/mem.c
    done
    silent src/route/advert.c <<'EOF'
/* advert.c - a test. */
#include "route/advert.h"
#include "route/route.h"
#include "base/mem.h"
#include "wire/data.h"
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
#include "base/mem.h"
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
    room step.c '#include "node/state.h"
#include "route/route.h"
#include "os/os.h"' | silent src/node/step.c
    room t_a.c 'static int counter;
#include "../../src/base/mem.h"' | silent test/unit/t_a.c
}

# ---- And now the sources -------------------------------------------------------------------------------

check_sources() {
    findings . > "$scratch/all"
    for rule in line-length function-length file-length first-line banned-call allocator clock \
        socket-header arrow stair include-form prefix unshared static-name struct-size citation \
        public-only global tab trailing-blank unfinished; do
        grep "^$rule$tab" "$scratch/all" > "$scratch/out"
        report "sources: $rule"
        grep -v "^$rule$tab" "$scratch/all" > "$scratch/rest"
        mv "$scratch/rest" "$scratch/all"
    done
    mv "$scratch/all" "$scratch/out"
    report 'sources: no rule but these'
    for f in src/base/base.h phoenix.h; do
        [ -e "$f" ] || echo "none${tab}no $f"
    done > "$scratch/out"
    report 'sources: found'
}

report() { # what: good if nothing is left in out
    if [ -s "$scratch/out" ]; then tap 'not ok' "$1"; else tap ok "$1"; fi
    cut -f 2- "$scratch/out" | sed 's/^/# /'
}

stair > "$scratch/stair"
case ${1-} in
'') ;;
findings) findings .; exit ;;
counts) findings . count=1; exit ;;
*)
    echo 'usage: test/source.sh [findings|counts]' >&2
    exit 2 ;;
esac

# Numbers the TAP lines, since those inside a pipe cannot count together; fails if one of them does.
{ self_check; check_sources; } | awk '
    /^ok - / { print "ok " ++n substr($0, 3); next }
    /^not ok - / { print "not ok " ++n substr($0, 7); bad = 1; next }
    { print }
    END { print "1.." n; exit bad }'
