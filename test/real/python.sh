#!/bin/sh
# python.sh - extras/python: nodes talk by name, plain and with asyncio; outcomes, casts, states, errors.
#
# Goal: phoenix.py's structs are those of phoenix.h, and its loop sleeps while nothing is due.
# Method: real nodes over loopback; each wait has a bound. Skipped where there is no python3.
set -u
cd "$(dirname "$0")/../.." || exit 1
command -v python3 > /dev/null 2>&1 || { echo '1..1'; echo 'ok 1 - phoenix.py # SKIP no python3'; exit 0; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/phoenix.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM HUP
${CC:-cc} -std=c99 -O1 -fPIC -shared -o "$dir/libphoenix.so" phoenix.c \
    || { echo 'not ok 1 - it compiles'; exit 1; }
cp extras/python/phoenix.py "$dir/"
cat > "$dir/sizes.c" << 'END'
#include "phoenix.h"
#include <stdio.h>
int main(void)
{
    printf("%zu %zu %zu %zu %zu %zu %zu\n", sizeof(struct phx_config), sizeof(struct phx_node),
           sizeof(struct phx_message), sizeof(struct phx_outgoing), sizeof(struct phx_cast),
           sizeof(struct phx_address), sizeof(struct phx_lost));
    return PHX_VERSION_NUMBER / 1000;
}
END
${CC:-cc} -I. -o "$dir/sizes" "$dir/sizes.c" && "$dir/sizes" > "$dir/sizes.txt"
cat > "$dir/test.py" << 'END'
import asyncio, ctypes, sys, time
import phoenix

count = bad = 0
def ok(good, name):
    global count, bad
    count += 1
    bad += not good
    print(f"{'ok' if good else 'not ok'} {count} - {name}", flush=True)

structs = (phoenix._Config, phoenix._Node, phoenix._Message, phoenix._Outgoing, phoenix._Cast,
           phoenix._Address, phoenix._Lost)
ok([ctypes.sizeof(s) for s in structs] == [int(w) for w in open(sys.argv[1]).read().split()],
   "structs are as large as those of phoenix.h")

def both(a, b, until, seconds=20):
    end = time.monotonic() + seconds
    while not until() and time.monotonic() < end:
        a.run(0.005)
        b.run(0.005)
    return until()

got, seen, broken = [], [], []
a = phoenix.Node(label="a", fast=True, on_message=got.append, on_node=seen.append,
                 on_broken=lambda first, last, is_broken: broken.append((first, last, is_broken)))
b = phoenix.Node(label="b", fast=True, on_message=got.append)
b.join(a.listen("tcp://127.0.0.1:0"))
a.assume(1)
b.assume(2, 9)
b.send(1, b"hello", source=2, tag=5)
ok(both(a, b, lambda: got), "a message arrives")
m = got.pop()
ok((m.to, m.source, m.tag, m.data, m.node) == (1, 2, 5, b"hello", b.id), "with all that belongs to it")
ok(both(a, b, lambda: a.owner(5) == b.id) and a.owner(77) is None, "names have owners")
ok(a.cast([(0, 2**64 - 1)], b"all", source=1) == 2 and both(a, b, lambda: len(got) == 2), "a cast")
ok([n.label for n in a.nodes()] == ["a", "b"] and seen[0].label == "b" and seen[0].state == phoenix.OK,
   "nodes")
ok("state: ok" in a.explain(b.id) and '"label":"b"' in a.dump(), "explain, dump")
big = bytes(range(256)) * 20000
got.clear()
a.send(3, big, source=1)
ok(both(a, b, lambda: got) and got[0].data == big, "5 MB")
for call, name in ((lambda: a.join("frog"), "a bad address"), (lambda: a.assume(5, 4), "a bad range"),
                   (lambda: phoenix.Node(key=b"short"), "a short key"),
                   (lambda: a.send(9, b"x" * 2**25), "too big")):
    try:
        call()
        ok(False, name)
    except phoenix.Error as e:
        ok(e.code < 0 and str(e), f"{name}: {e}")
def more_hubs():
    asked.append(1)
    alone.join(hub)

asked, hub = [], a.listen("tcp://127.0.0.1:0")
alone = phoenix.Node(label="alone", on_need_hubs=more_hubs)
ok(both(a, alone, lambda: a.owner(1) and len(alone.nodes()) > 1) and len(asked) == 1, "a node asks for hubs")
del alone
try:
    phoenix.Node(colour=3)
    ok(False, "an unknown setting")
except TypeError:
    ok(True, "an unknown setting")
def raises(m):
    raise ValueError("from a callback")
d = phoenix.Node(on_message=raises)
d.assume(50)
d.send(50, b"")
try:
    d.run(5)
    ok(False, "what a callback raises comes out of run")
except ValueError:
    ok(True, "what a callback raises comes out of run")
d.free()
b.free()
ok(a.run(20, until=lambda: broken), "names of one that ends without a goodbye are broken")
ok(broken[0] == (2, 9, True) and seen[-1].state == phoenix.FAILED, "and it has failed")
steps, step = [], a.step # counted: on some machines a wake-up alone costs milliseconds of processor
a.step = lambda: (steps.append(1), step())[1]
a.run(2)
ok(0 < len(steps) <= 40, f"an idle node sleeps: {len(steps)} steps in 2 s")
a.close()

async def story():
    there = []
    async with phoenix.Node(on_message=there.append) as hub, phoenix.Node() as node:
        node.join(hub.listen("tcp://127.0.0.1:0"))
        hub.assume(7)
        await asyncio.wait_for(node.deliver(7, b"x", source=1), 20)
        ok([m.data for m in there] == [b"x"], "asyncio: deliver returns when it is there")
        await asyncio.wait_for(asyncio.gather(*[node.deliver(7, bytes([i])) for i in range(100)]), 20)
        ok(len(there) == 101, "asyncio: a hundred at once")
        try:
            await asyncio.wait_for(node.deliver(8, b"", time_limit=0.05), 20)
            ok(False, "asyncio: nobody holds that name")
        except phoenix.Error as e:
            ok("nobody holds" in str(e), "asyncio: nobody holds that name")
asyncio.run(story())
print(f"1..{count}")
sys.exit(bad > 0)
END
timeout 100 python3 "$dir/test.py" "$dir/sizes.txt"
