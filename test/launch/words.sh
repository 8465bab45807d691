#!/bin/sh
# words.sh - command lines end to end: -k and its groups, plans, configuration files, environment, bad input.
. "$(dirname "$0")/tap.inc"

fork='--start fork'
bad() { # wanted line, arguments: one line, status 2, nothing on standard output
    want=$1
    shift
    run "$@"
    same "$status $(cat "$work/err")" "2 phxrun: $want" "refused: $*"
    [ ! -s "$work/out" ]
    ok $? '.. and nothing else is said'
}

# ---- One process on each host

run -k $fork --hosts 'a[1-4],b' echo hi
same "$status $(cat "$work/out")" '0 a[1-4],b: hi' 'equal answers are one'
run -k $fork --hosts 'a[1-3]' --degree 2 sh -c 'echo $((PMI_RANK % 2)); echo e >&2; exit $PMI_RANK'
same "$status" 2 'the worst status'
same "$(tr '\n' ';' < "$work/out")" 'a[1,3]: 0;a2: 1;' 'groups in the order of their first hosts'
said '^a\[1-3\]: e$'
ok $? 'standard error is grouped, too'
run -k --json $fork --hosts 'a[1-2]' sh -c 'echo "\"x\""; exit 3'
same "$(cat "$work/out")" '{"hosts":["a1","a2"],"status":3,"stdout":"\"x\"\n","stderr":""}' 'JSON'
run -k $fork --hosts 'a[1-4]' seq 1 30000
sort -u "$work/out" > "$work/unique"
same "$status $(cat "$work/out" | wc -l) $(cat "$work/unique" | wc -l)" '0 120000 120000' \
    'a flood: each line once, with its host'
run -k $fork --hosts 'a[1-2]' "$work/missing"
same "$status" 127 'a program that is missing'

# ---- Programs, environment, files

printf -- "-n 2 sh -c 'echo A\$PMI_RANK'\n-n 1 -env X 'y z' sh -c 'echo \$X'\n" > "$work/programs"
run $fork --hosts a,b -configfile "$work/programs"
same "$status $(sort "$work/out" | tr '\n' ';')" '0 A0;A1;y z;' 'a configuration file'
export LAUNCH_A=1 LAUNCH_B=2 SLURM_PROCID=5
run $fork --hosts a -genvlist LAUNCH_B,PATH sh -c 'echo "$LAUNCH_A-$LAUNCH_B-${SLURM_PROCID-none}"'
same "$(cat "$work/out")" '-2-none' '-genvlist'
run $fork --hosts a sh -c 'echo "$LAUNCH_A-$LAUNCH_B-${SLURM_PROCID-none}"'
same "$(cat "$work/out")" '1-2-none' 'all goes along but the variables of a Slurm step'
run -n 1 -wdir "$work" sh -c 'pwd'
same "$(cat "$work/out")" "$(cd "$work" && pwd)" '-wdir'
printf 'a:2\nb:2 via=g # behind g\n' > "$work/hosts"
run $fork -f "$work/hosts" sh -c 'echo $PMI_RANK'
same "$status $(sort "$work/out" | tr '\n' ' ')" '0 0 1 2 3 ' 'hosts behind a gateway'

# ---- What callers leave behind

(trap '' CHLD; exec timeout 20 "$PHXRUN" -n 2 true)
same $? 0 'SIGCHLD ignored by the caller'
sh -c "trap '' HUP; exec \"$PHXRUN\" -n 1 sleep 0.5" &
launcher=$!
ignores_hup() {
    arguments $launcher | grep -q "^$PHXRUN -n 1 sleep" # and not the shell, whose words have that, too
}
soon ignores_hup
kill -HUP $launcher
wait $launcher
same $? 0 'nohup'
mkfifo "$work/fifo"
run -n 1 -outfile-pattern "$work/fifo" echo x
same "$status" 1 'a pipe that nobody reads as output file'
run -k --timeout 0.3 $fork --hosts a,b sh -c '[ $PMI_RANK = 0 ] && exit 3; sleep 9'
same "$status" 124 'a time-out, whatever failed before'

# ---- Plans

run --dry-run $fork -f "$work/hosts" "$work/missing"
same "$status" 0 'a plan starts nothing'
grep -q '^ *agent . on g (gateway)$' "$work/out" && grep -q '^mapping (vector,(0,2,2))$' "$work/out"
ok $? '.. and shows gateway and mapping'
run -v $fork -n 3 --hosts a,b,c true
same "$(sed 's/[0-9.]* s\b/T s/g' "$work/err" | tail -2 | tr '\n' ';')" \
    'phxrun: all ran after T s, all was over after T s;phxrun: no key was asked for;' '-v: how long it took'
run --version
same "$status" 0 '--version'

# ---- Bad input

bad 'no program is named; phxrun --help shows how'
bad 'unknown option --nonsense; phxrun --help lists all' --nonsense true
bad 'hosts, column 3: this range runs backward: "3-1"' --hosts 'n[3-1]' true
bad 'hosts, column 3: a host with count 0' --hosts 'a:0' true
printf 'a\nb slots=4\n' > "$work/bad"
bad "$work/bad:2:3: unknown word \"slots=4\"" -f "$work/bad" true
printf 'a via=b\nb via=a\n' > "$work/circle"
bad 'a circle of gateways: a via b via a' -f "$work/circle" true
SLURM_JOB_NODELIST='n[1-3]' SLURM_TASKS_PER_NODE='2(x2)'
export SLURM_JOB_NODELIST SLURM_TASKS_PER_NODE
bad 'SLURM_TASKS_PER_NODE names 2 hosts, SLURM_JOB_NODELIST 3' true

done_testing
