#!/bin/sh
# stdio.sh - what processes write and read through the tree: lines, labels, files, input, back-pressure.
# Promise 101.
. "$(dirname "$0")/tap.inc"

fork='--start fork'
hosts='h[1-8]'

run $fork -n 16 -ppn 2 --hosts "$hosts" --degree 2 -l sh -c 'echo out $PMI_RANK; echo err $PMI_RANK >&2'
same "$status" 0 'labels'
i=0
while [ $i -lt 16 ]; do
    echo "[$i] out $i"
    i=$((i + 1))
done > "$work/wanted"
sort -t'[' -k2n "$work/out" | cmp -s - "$work/wanted"
ok $? 'each line with its rank'
same "$(grep -c '^\[[0-9]*\] err ' "$work/err")" 16 'standard error, too'

run $fork -n 2 --hosts a,b -l sh -c '[ $PMI_RANK = 1 ] || printf "no newline"'
same "$(cat "$work/out")" '[0] no newline' 'a last line without newline gets one with its label'
run -n 1 sh -c 'printf "a\0b no newline"'
same "$(od -An -c "$work/out" | tr -d ' \n')" 'a\0bnonewline' 'without labels not a byte is changed'

# Lines are not mixed, and nothing is lost: 8 ranks write 20,000 lines each, in pieces.
run $fork -n 8 --hosts "$hosts" --degree 2 \
    awk 'BEGIN { r = ENVIRON["PMI_RANK"]
        for (i = 0; i < 20000; i++) { printf "rank %d ", r; printf "line %d\n", i } }'
same "$status" 0 'many lines'
awk '{ if (NF != 4 || $1 != "rank" || $3 != "line" || $4 != n[$2]++) bad++ }
    END { for (r in n) if (n[r] != 20000) bad++; exit bad > 0 }' "$work/out"
ok $? '.. whole, in order, complete'

# A line of a mebibyte is cut, but nothing of it is lost.
run $fork -n 2 --hosts a,b sh -c '[ $PMI_RANK = 0 ] || { head -c 1048576 /dev/zero | tr "\0" x; echo; }'
same "$(wc -c < "$work/out" | tr -d ' ')" 1048577 'a line of a mebibyte'

# ---- Input

printf 'one\ntwo\n' > "$work/in"
"$PHXRUN" $fork -n 4 --hosts "$hosts" -l cat < "$work/in" > "$work/out"
same "$(cat "$work/out")" '[0] one
[0] two' 'input goes to rank 0'
"$PHXRUN" $fork -n 4 --hosts "$hosts" --stdin 3 -l cat < "$work/in" > "$work/out"
same "$(cat "$work/out")" '[3] one
[3] two' '--stdin 3'
"$PHXRUN" $fork -n 4 --hosts "$hosts" --degree 2 --stdin all -l wc -l < "$work/in" | sort > "$work/out"
same "$(tr -d '\n' < "$work/out")" '[0] 2[1] 2[2] 2[3] 2' '--stdin all'
"$PHXRUN" $fork -n 2 --hosts a,b --stdin none -l wc -l < "$work/in" | sort > "$work/out"
same "$(tr -d '\n' < "$work/out")" '[0] 0[1] 0' '--stdin none'
head -c 5000000 /dev/urandom > "$work/big"
"$PHXRUN" $fork -n 4 --hosts "$hosts" --degree 2 --stdin 3 cat < "$work/big" | cmp -s - "$work/big"
ok $? '5 MB down and up again'
cat "$work/big" | "$PHXRUN" $fork -n 4 --hosts "$hosts" --stdin all sh -c 'cksum' | sort -u > "$work/out"
same "$(cat "$work/out")" "$(cksum < "$work/big")" 'the same bytes for all, from a pipe'
"$PHXRUN" $fork -n 2 --hosts "$hosts" true < "$work/big"
same $? 0 'a program that reads none of it'

# ---- Files

run $fork -n 4 -ppn 2 --hosts a,b -outfile-pattern "$work/o.%h.%r" -errfile-pattern "$work/e.%h" \
    sh -c 'echo out $PMI_RANK; echo err >&2'
same "$(cat "$work/o.a.0" "$work/o.a.1" "$work/o.b.2" "$work/o.b.3" | tr '\n' ' ')" \
    'out 0 out 1 out 2 out 3 ' \
    'a file per rank'
same "$(cat "$work/e.a" "$work/e.b" | tr '\n' ' ')" 'err err err err ' 'a file per host'
run -n 1 -outfile-pattern "$work/none/%r" echo x
same "$status" 1 'a file that cannot be made'

# ---- Who does not read stops the writers, and who has gone ends them

mkfifo "$work/pipe"
"$PHXRUN" $fork -n 4 --hosts "$hosts" --degree 2 sh -c 'yes | head -c 20000000' > "$work/pipe" &
launcher=$!
exec 3< "$work/pipe"
head -c 1000 <&3 > "$work/first"
used() { # number and processor time of each writer
    for pid in $(called yes); do
        cut -d' ' -f1,14,15 "/proc/$pid/stat" 2> /dev/null
    done
}
stopped() { # the writers wait: they have used no processor time between two looks
    first=$(used)
    sleep 0.1
    [ -n "$first" ] && [ "$first" = "$(used)" ]
}
no_writer() {
    [ -z "$(called yes)" ]
}
soon stopped
ok $? 'writers wait for a reader that does not read'
most=$(for p in $launcher $(agents $launcher); do
    awk '/^VmRSS/ { print $2 }' "/proc/$p/status" 2>/dev/null
done | sort -n | tail -1)
[ "${most:-0}" -lt 20000 ]
ok $? "no agent keeps it (${most:-?} KiB)"
same "$(cat <&3 | wc -c | tr -d ' ')" $((4 * 20000000 - 1000)) '.. and all of it comes'
wait $launcher
same $? 0 '.. with status 0'
exec 3<&-

"$PHXRUN" $fork -n 4 --hosts "$hosts" yes 2> "$work/err" | head -1 > "$work/out"
same "$(cat "$work/out")" y '| head'
soon no_writer
ok $? '.. ends all'
same "$(cat "$work/err")" '' '.. without a word'

"$PHXRUN" -k --hosts a,b $fork yes 2> "$work/err" | head -1 > "$work/out"
ok $? '-k with a reader that goes'
soon no_writer
ok $? '.. ends all, too'
"$PHXRUN" --grace 0.2 -n 1 sh -c 'head -c 180000 /dev/zero | tr "\0" x; exit 3' 2> "$work/err" \
    | (sleep 2; wc -c) > "$work/out"
same "$(tr -d ' ' < "$work/out")" 180000 'a slow reader gets all that came before a failure'

done_testing
