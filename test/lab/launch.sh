# launch.sh - the lab's scenes of the launcher: agents over real sshd and a real Slurm; everybody is killed.
#
# Hosts are namespaces with sshd, and phxrun is started in that of l. They share a disk. A copy of phxrun in
# this scene's folder tells its processes from others.

mark=9000.$$ # a sleep of this length is one of ours

launched() { # from standard input: what `ssh` is told of each host
    cp "$lab/phxrun" "$lab/pmi1" "$dir" || die 'no phxrun was built'
    keys
    cat - "$dir/ssh_config" > "$dir/config" # what comes first counts
    mv "$dir/config" "$dir/ssh_config"
    printf '#!/bin/sh\nexec ssh -F %s "$@"\n' "$dir/ssh_config" > "$dir/ssh"
    chmod +x "$dir/ssh"
    printf '#!/bin/sh\nexec sleep %s\n' "$mark" > "$dir/sleeper"
    chmod +x "$dir/sleeper"
}

phxrun() { # arguments: $dir/out, $dir/err and $status
    "$tool" enter "${me}l" timeout 60 "$dir/phxrun" "$@" > "$dir/out" 2> "$dir/err" < /dev/null &
    wait $!
    status=$?
}

ours() { pgrep -xfc "sleep $mark"; } # sleeps that live

soon() { # seconds, command
    local until=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $until ] || return 1
        sleep 0.05
    done
}

have_ours() { [ "$(ours)" -eq "$1" ]; }
nothing_left() { have_ours 0 && ! pgrep -f "$dir/phxrun" > /dev/null; }

is() { # what, status: of the last phxrun
    [ "$status" -eq "$2" ] || die "$1: status $status, not $2: $(head -c 400 "$dir/err")"
}

good() { # what, ranks: all of them said so
    is "$1" 0
    [ "$(grep -c ': good$' "$dir/out")" -eq "$2" ] || die "$1: not all are good: $(tail -n 3 "$dir/out")"
    soon 5 nothing_left || die "$1: something is left"
}

says() { # what, pattern: in one line of standard error
    grep -q -e "$2" "$dir/err" || die "$1: it said: $(head -c 400 "$dir/err")"
}

# Sleeps on all hosts; then one of these is killed, and all is gone soon.
dies() { # who, status wanted, ranks, options
    local who=$1 want=$2 ranks=$3 begun pid
    shift 3
    "$tool" enter "${me}l" "$dir/phxrun" -n "$ranks" "$@" "$dir/sleeper" \
        > "$dir/out" 2> "$dir/err" < /dev/null &
    pid=$!
    soon 20 have_ours "$ranks" || die "$who: only $(ours) of $ranks run: $(head -c 300 "$dir/err")"
    begun=$SECONDS
    case $who in
    launcher) kill -KILL $pid ;;
    rank) kill -KILL "$(pgrep -xf "sleep $mark" | head -1)" ;;
    agent) kill -KILL "$(pgrep -xf "$dir/phxrun --as-[a-z]*" | head -1)" ;;
    ssh) kill -KILL "$(pgrep -f "^ssh -F $dir/ssh_config" | head -1)" ;;
    srun) kill -KILL "$(pgrep -xf "srun .*$dir/phxrun --as-step" | head -1)" ;;
    sshd) sshd_killed n2 ;;
    esac
    soon 15 nothing_left || die "kill -9 of $who: $(ours) sleep, $(pgrep -fc "$dir/phxrun") agents left"
    wait $pid
    status=$?
    is "kill -9 of $who" "$want"
    note "kill -9 of $who: nothing is left after $((SECONDS - begun)) s"
}

# An MPI program of MPICH as it is, if there is one: $dir/mpi adds all ranks up; with an argument it aborts.
mpich() {
    if ! command -v mpicc > /dev/null 2>&1 || ! mpichversion > /dev/null 2>&1; then
        note 'no MPICH: its programs are skipped'
        return 1
    fi
    [ ! -e "$dir/mpi" ] || return 0
    cat > "$dir/mpi.c" << 'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, size, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && rank == size - 1)
        MPI_Abort(MPI_COMM_WORLD, atoi(argv[1]));
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d: %s\n", rank, sum == size * (size - 1) / 2 ? "good" : "bad");
    MPI_Finalize();
    return 0;
}
END
    try mpicc -O1 -o "$dir/mpi" "$dir/mpi.c"
}

mpich_runs() { # options: MPICH's programs with this starter
    mpich || return 0
    phxrun -n 4 "$@" "$dir/mpi"
    good "MPICH $*" 4
    phxrun -n 4 "$@" "$dir/mpi" 7
    is "MPICH's Abort(7) $*" 7
}

eight() { # eight hosts; n6 and n7 behind the NAT of g, n8 behind n1
    subnet out x y
    host l out 198.51.100.10/24
    host n2 out 198.51.100.12/24
    host n3 out 198.51.100.13/24
    host n4 out 198.51.100.14/24
    host n5 out 198.51.100.15/24
    gateway g out=198.51.100.1/24 x=10.1.0.1/24
    gateway n1 out=198.51.100.11/24 y=10.2.0.1/24
    nat g symmetric x out
    closed n1
    host n6 x 10.1.0.6/24 10.1.0.1
    host n7 x 10.1.0.7/24 10.1.0.1
    host n8 y 10.2.0.8/24 10.2.0.1
    launched << 'END'
Host n1
    HostName 198.51.100.11
Host n2
    HostName 198.51.100.12
Host n3
    HostName 198.51.100.13
Host n4
    HostName 198.51.100.14
Host n5
    HostName 198.51.100.15
Host g
    HostName 198.51.100.1
Host n6
    HostName 10.1.0.6
Host n7
    HostName 10.1.0.7
Host n8
    HostName 10.2.0.8
    ProxyCommand ssh -F CONFIG -W %h:%p n1
END
    sed -i "s|CONFIG|$dir/ssh_config|" "$dir/ssh_config"
    printf '%s\n' n1:2 n2:2 n3:2 n4:2 n5:2 'n6:2 via=g' 'n7:2 via=g' n8:2 > "$dir/hosts"
    local one
    for one in g n1 n2 n3 n4 n5 n6 n7 n8; do sshd $one; done
    for one in 198.51.100.1 198.51.100.11 198.51.100.12; do until_open l $one 22; done
    until_open g 10.1.0.7 22
    until_open n1 10.2.0.8 22
}

# the launcher: 8 hosts by sshd, two behind a NAT'ed gateway, one by a jump
scene_launch_ssh() {
    local degree
    eight
    for degree in 2 32; do
        phxrun --ssh "$dir/ssh" -f "$dir/hosts" --degree $degree -n 16 "$dir/pmi1" all 2
        good "degree $degree" 16
    done
    phxrun --ssh "$dir/ssh" -f "$dir/hosts" -n 16 --on-failure continue "$dir/pmi1" spawn 4
    good 'a spawn' 22
    phxrun --ssh "$dir/ssh" -f "$dir/hosts" -n 16 --copy --agent /no/such/file --stage "$dir/pmi1" \
        "$dir/pmi1" all
    good 'copied and staged' 16
    pairs=16/16
    mpich_runs --ssh "$dir/ssh" -f "$dir/hosts" -ppn 1
    mpich_runs --start fork -f "$dir/hosts" -ppn 1
}

# the launcher over sshd: each role killed, and nothing is left
scene_launch_kills() {
    local who
    eight
    for who in rank:137 agent:1 ssh:1 launcher:137 sshd:1; do
        dies "${who%:*}" "${who#*:}" 16 --ssh "$dir/ssh" -f "$dir/hosts" --degree 2
        [ "$who" = sshd:1 ] || continue
        sshd n2
    done
}

# the launcher and hosts that refuse, hang, make noise, or are not who they were
scene_launch_bad() {
    subnet out
    host l out 198.51.100.10/24
    host n1 out 198.51.100.11/24
    host n2 out 198.51.100.12/24
    host n3 out 198.51.100.13/24
    host n4 out 198.51.100.14/24
    host n5 out 198.51.100.15/24
    launched << END
Host n1
    HostName 198.51.100.11
Host refuses
    HostName 198.51.100.12
Host noise
    HostName 198.51.100.13
Host hangs
    HostName 198.51.100.14
Host stranger
    HostName 198.51.100.15
    UserKnownHostsFile /dev/null
Host nobody
    HostName 198.51.100.99
END
    sshd n1
    cat > "$dir/noise" << 'END'
#!/bin/sh
echo Welcome
echo phxrun-agents are fine
printf more
exec sh -c "$SSH_ORIGINAL_COMMAND"
END
    chmod +x "$dir/noise"
    sshd n3 -o ForceCommand="$dir/noise"
    printf '#!/bin/sh\nexec sleep %s\n' "$mark" > "$dir/hang"
    chmod +x "$dir/hang"
    sshd n4 -o ForceCommand="$dir/hang"
    sshd n5
    local one
    for one in 11 13 14 15; do until_open l 198.51.100.$one 22; done
    phxrun --ssh "$dir/ssh" --hosts n1,noise -n 4 -ppn 2 "$dir/pmi1" all
    good noise 4
    bad() { # host, pattern
        phxrun --ssh "$dir/ssh" --hosts "n1,$1,noise" -n 3 --start-timeout 10 "$dir/sleeper"
        is "$1" 1
        says "$1" "^phxrun: host $1: $2"
        [ "$(grep -vc '^phxrun: starting: ' "$dir/err")" -eq 1 ] \
            || die "$1: more than one line: $(cat "$dir/err")"
        [ "$1" = hangs ] || soon 5 nothing_left || die "$1: something is left"
    }
    bad refuses '.*Connection refused'
    bad stranger '.*[Hh]ost key'
    bad nobody '.*'
    bad hangs 'no answer within 10000 ms'
}

# A Slurm of our own: controller l and hosts n1 to n3, without cgroups; see slurm.conf(5).
slurm() {
    local one n
    for one in slurmctld slurmd munged srun salloc; do
        PATH=$PATH:/usr/sbin command -v $one > /dev/null 2>&1 \
            || skipped "wants $one (apt-get install slurmctld slurmd slurm-client munge)"
    done
    subnet out
    host l out 10.77.0.10/24
    for n in 1 2 3; do host n$n out 10.77.0.1$n/24; done
    launched < /dev/null
    mkdir -p "$dir/munge" "$dir/slurm/state"
    chmod 755 "$dir" "$dir/munge"
    head -c 1024 /dev/urandom > "$dir/munge/key"
    chmod 400 "$dir/munge/key"
    "$tool" enter "${me}l" munged --force --foreground --key-file="$dir/munge/key" \
        --socket="$dir/munge/socket" \
        --pid-file="$dir/munge/pid" --log-file="$dir/munge/log" --seed-file="$dir/munge/seed" \
        > "$dir/munged.log" 2>&1 &
    soon 10 test -S "$dir/munge/socket" || die "munged: $(tail -n 2 "$dir/munged.log" "$dir/munge/log")"
    cat > "$dir/slurm/slurm.conf" << END
ClusterName=lab
SlurmctldHost=l(10.77.0.10)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
CryptoType=crypto/munge
StateSaveLocation=$dir/slurm/state
SlurmdSpoolDir=$dir/slurm/spool-%n
SlurmctldPidFile=$dir/slurm/ctld.pid
SlurmdPidFile=$dir/slurm/d-%n.pid
SlurmctldLogFile=$dir/slurm/ctld.log
SlurmdLogFile=$dir/slurm/d-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
ReturnToService=2
SwitchType=switch/none
MpiDefault=none
NodeName=n1 NodeAddr=10.77.0.11 CPUs=4
NodeName=n2 NodeAddr=10.77.0.12 CPUs=4
NodeName=n3 NodeAddr=10.77.0.13 CPUs=4
PartitionName=all Nodes=n[1-3] Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
END
    echo CgroupPlugin=cgroup/v1 > "$dir/slurm/cgroup.conf"
    export SLURM_CONF=$dir/slurm/slurm.conf
    "$tool" enter "${me}l" unshare --uts sh -c 'hostname l; exec slurmctld -D' > "$dir/ctld.log" 2>&1 &
    for n in 1 2 3; do
        "$tool" enter "${me}n$n" unshare --uts sh -c "hostname n$n; exec slurmd -D -N n$n" \
            > "$dir/d$n.log" 2>&1 &
    done
    soon 20 idle || die "Slurm: $(in_slurm sinfo -h 2>&1) $(tail -n 3 "$dir/ctld.log" "$dir/d1.log")"
}

in_slurm() { "$tool" enter "${me}l" unshare --uts sh -c 'hostname l; exec "$@"' sh "$@"; }
idle() { [ "$(in_slurm sinfo -h -N -o %t 2> /dev/null | grep -c idle)" -eq 3 ]; }

allocated() { # phxrun's arguments, in an allocation of all three hosts
    in_slurm timeout 60 salloc -Q -N3 --ntasks-per-node=2 "$dir/phxrun" "$@" \
        > "$dir/out" 2> "$dir/err" < /dev/null &
    wait $!
    status=$?
    sed -i '/^salloc: /d' "$dir/err"
}

# the launcher inside an allocation of Slurm: one srun for all
scene_launch_slurm() {
    local who
    slurm
    allocated "$dir/pmi1" all 2
    good 'by srun' 6
    allocated --degree 2 -n 12 -ppn 4 --on-failure continue "$dir/pmi1" spawn 3
    good 'a spawn by srun' 17
    allocated --stage "$dir/pmi1" "$dir/pmi1" all
    good 'staged by srun' 6
    allocated sh -c '[ $PMI_RANK = 5 ] && exit 9; exit 0'
    is 'a status' 9
    pairs=6/6
    if mpich; then
        allocated "$dir/mpi"
        good 'MPICH by srun' 6
        allocated "$dir/mpi" 7
        is 'Abort(7) by srun' 7
    fi
    if [ -e /usr/include/slurm/pmi2.h ]; then
        try "${CC:-cc}" -O1 -o "$dir/pmi2" test/lab/pmi2.c -lpmi2
        allocated "$dir/pmi2"
        good "Slurm's own PMI-2 library" 6
    else
        note "no libpmi2-0-dev: Slurm's PMI-2 library is skipped"
    fi
    for who in rank:137 agent:1 srun:1; do
        slurm_dies "${who%:*}" "${who#*:}"
    done
    slurm_dies launcher 137
}

slurm_dies() { # who, status wanted (of salloc, which has its own opinion of signals)
    local pid
    in_slurm salloc -Q -N3 --ntasks-per-node=2 "$dir/phxrun" "$dir/sleeper" \
        > "$dir/out" 2> "$dir/err" < /dev/null &
    pid=$!
    soon 20 have_ours 6 || die "$1: only $(ours) of 6 run: $(head -c 300 "$dir/err")"
    case $1 in
    launcher) kill -KILL "$(pgrep -xf "$dir/phxrun $dir/sleeper" | head -1)" ;;
    rank) kill -KILL "$(pgrep -xf "sleep $mark" | head -1)" ;;
    agent) kill -KILL "$(pgrep -xf "$dir/phxrun --as-step" | head -1)" ;;
    srun) kill -KILL "$(pgrep -f "^srun .*$dir/phxrun --as-step" | head -1)" ;;
    esac
    soon 20 nothing_left || die "kill -9 of $1: $(ours) sleep, $(pgrep -fc "$dir/phxrun") agents left"
    wait $pid
    status=$?
    [ "$1" = launcher ] || is "kill -9 of $1" "$2"
    note "kill -9 of $1 under srun: nothing is left"
}

# ---- An MPI that loses processes ------------------------------------------------------------------------

# Three sites, each behind a symmetric NAT and reached through its gateway: two hosts with two ranks each.
sites() { # site...
    local one n=0
    subnet out "$@"
    host l out 198.51.100.10/24
    : > "$dir/hosts"
    for one; do
        n=$((n + 1))
        gateway g$one out=198.51.100.$n/24 $one=10.$n.0.1/24
        nat g$one symmetric $one out
        host ${one}1 $one 10.$n.0.2/24 10.$n.0.1
        host ${one}2 $one 10.$n.0.3/24 10.$n.0.1
        printf 'Host %s\n HostName %s\n' g$one 198.51.100.$n ${one}1 10.$n.0.2 ${one}2 10.$n.0.3
        printf '%s\n' "${one}1:2 via=g$one" "${one}2:2 via=g$one" >> "$dir/hosts"
    done > "$dir/names"
    launched < "$dir/names"
    for one; do sshd g$one; sshd ${one}1; sshd ${one}2; done
    n=0
    for one; do
        n=$((n + 1))
        until_open l 198.51.100.$n 22
        until_open g$one 10.$n.0.2 22
        until_open g$one 10.$n.0.3 22
    done
}

# Whether a rank has announced at least this iteration, or this word: see extras/ftmpi/examples/cg.c.
announced() { # word, number
    awk -v word="$1" -v number="$2" '$1 == "@" && $6 == word && $7 >= number { found = 1 }
        END { exit !found }' "$dir/out"
}

gone_dark() { # host: all its processes are killed, and its cables pulled
    local one
    for one in "${@:2}"; do pull "$1" "$one"; done
    for one in $(ip netns pids "$me$1"); do kill -KILL "$one" 2> /dev/null; done
}

# the MPI over three sites behind NAT: a rank dies, then a gateway; the others end right (promises 77, 88)
scene_ft_sites() {
    local pid victim examples=extras/ftmpi/examples bits begun
    sites x y z
    try env FTMPI_BUILD="$lab/ftmpi" extras/ftmpi/ftmpicc -O2 -o "$dir/cg" $examples/cg.c $examples/parity.c \
        $examples/copies.c -lm
    bits=$("$dir/cg" -n 300 | sed 's/.*bits //')
    "$tool" enter "${me}l" timeout 120 "$dir/phxrun" --ssh "$dir/ssh" -f "$dir/hosts" --ftmpi --ft shrink \
        --cut-wait 5 -n 12 "$dir/cg" -e -n 300 > "$dir/out" 2> "$dir/err" < /dev/null &
    pid=$!
    soon 60 announced iteration 100 || die "no iteration 100: $(tail -n 3 "$dir/out" "$dir/err")"
    victim=$(awk '$1 == "@" && $3 == 5 { print $5; exit }' "$dir/out")
    try kill -KILL "$victim"
    soon 20 announced restored 0 || die "no recovery from a death: $(tail -n 3 "$dir/out" "$dir/err")"
    soon 60 announced iteration 300 || die "no iteration 300: $(tail -n 3 "$dir/out" "$dir/err")"
    begun=$SECONDS
    gone_dark gy out y
    wait $pid
    status=$?
    note "ended $((SECONDS - begun)) s after the gateway; told: $(grep -c ' noticed ' "$dir/out")"
    [ "$(grep -c "^= .*bits $bits\$" "$dir/out")" -eq 8 ] \
        || die "wanted eight times bits $bits: $(grep '^=' "$dir/out"; tail -n 5 "$dir/err")"
    soon 15 nothing_of cg || die "left: $(pgrep -af "$dir/")"
    pairs=8/8
}

# the MPI over three sites behind NAT: the Jacobi of examples/, each cell beside the serial run
scene_ft_jacobi() {
    local n=240
    sites x y z
    try env FTMPI_BUILD="$lab/ftmpi" extras/ftmpi/ftmpicc -O2 -o "$dir/jacobi" examples/jacobi.c -lm
    "$tool" enter "${me}l" timeout 120 "$dir/phxrun" --ssh "$dir/ssh" -f "$dir/hosts" --ftmpi -n 12 \
        sh -c 'ip -br address show scope global | sed "s/^/at /"; exec "$@"' sh "$dir/jacobi" $n \
        > "$dir/out" 2> "$dir/err" < /dev/null &
    wait $!
    status=$?
    is 'the Jacobi' 0
    [ "$(grep '^at ' "$dir/out" | sort -u | wc -l)" -eq 6 ] || die "not on six hosts: $(cat "$dir/out")"
    grep -q "^$n x $n cells, 4 x 3 processes, " "$dir/out" || die "not 12 ranks: $(tail -n 3 "$dir/out")"
    grep -qx 'every cell has the bits of the serial run' "$dir/out" \
        || die "no such end: $(tail -n 3 "$dir/out" "$dir/err")"
    note "$(grep ' cells, ' "$dir/out")"
    soon 15 nothing_of jacobi || die "left: $(pgrep -af "$dir/")"
    pairs=12/12
}

nothing_of() { ! pgrep -f "$dir/$1" > /dev/null; } # program in this scene's folder
