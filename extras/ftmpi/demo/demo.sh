#!/bin/sh
# demo.sh - what `make demo_mpi` does: kills ranks of the solver, then runs the paper's examples; judges.
set -u
cd "$(dirname "$0")/../../.." || exit 1
dir=$(mktemp -d "${TMPDIR:-/tmp}/ftmpi.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
examples=extras/ftmpi/examples
ftmpirun=${FTMPIRUN:-build/ftmpi/ftmpirun}
ftmpicc=${FTMPICC:-extras/ftmpi/ftmpicc}
bad=0

build() { # program, other sources
    one=$1
    shift
    $ftmpicc -O2 -o "$dir/$one" "$examples/$one.c" "$@" -lm || exit 1
}
build cg $examples/parity.c $examples/copies.c
build example1
build example2
build example3
build example4 $examples/farm.c
build example5 $examples/parity.c
${CC:-cc} -std=c99 -O2 -o "$dir/demo" extras/ftmpi/demo/demo.c extras/ftmpi/demo/play.c || exit 1
"$dir/demo" $ftmpirun "$dir" || bad=1

# The examples of the paper. What they say is sorted, since ranks speak at the same time.
example() { # mode, ranks, lines wanted, pattern of each of them, program, arguments
    mode=$1 n=$2 lines=$3 pattern=$4
    shift 4
    echo "\$ ftmpirun -n $n --ft $mode ./$*"
    program=$1
    shift
    timeout 20 $ftmpirun -n "$n" --ft "$mode" "$dir/$program" "$@" > "$dir/out" 2>&1
    status=$?
    sort "$dir/out" | sed 's/^/  /'
    if [ $status -eq 0 ] && [ "$(grep -c "$pattern" "$dir/out")" -eq "$lines" ]; then echo '  good'
    else
        echo "  BAD: status $status; wanted $lines lines like \"$pattern\""
        bad=1
    fi
}
echo
echo 'The examples of the paper; ranks kill themselves.'
example blank 5 6 'failure 1 was rank 3$\|failure 2 was rank 1$' example1 3 1
example shrink 4 3 'rank 2 failed 1 times$' example2 2
example rebuild 4 4 'of 4: done, 200 steps' example3 2
example rebuild-end 4 4 'of 4: done, 200 steps' example3 2
example shrink 4 3 'of 3: done, 200 steps' example3 2
example blank,cont 4 3 'of 4: done, 200 steps' example3 2
example blank,cont 5 1 'rank 0: 78498 primes, right, 4 workers died' example4 1 2 3 4
example rebuild 5 1 'rank 0: right' example5 2 0
[ $bad -eq 0 ] && echo 'demo: good'
exit $bad
