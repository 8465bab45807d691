#!/bin/sh
# run_demo.sh - what `make demo` does: compiles examples/sites.c, runs it, leaves nothing behind.
set -u
cd "$(dirname "$0")/.." || exit 1
dir=$(mktemp -d "${TMPDIR:-/tmp}/phoenix.XXXXXX") || exit 1
driver=
stop=0
# The shell heeds a signal only when its foreground command has ended, hence the & below. The driver
# gets the signal too, ends its children and tells us; until then we wait.
stopped() {
    stop=130
    [ -z "$driver" ] || kill -TERM "$driver" 2>/dev/null
}
trap 'rm -rf "$dir"' EXIT
trap stopped INT TERM HUP
${CC:-cc} -std=c99 -O2 ${CFLAGS-} -I. -o "$dir/sites" \
    examples/sites.c examples/sites_child.c phoenix.c || exit 1
[ $stop = 0 ] || exit "$stop"
"$dir/sites" "$@" &
driver=$!
wait "$driver"
status=$?
while kill -0 "$driver" 2>/dev/null; do # it was a signal that ended our wait
    wait "$driver"
    status=$?
done
exit "$status"
