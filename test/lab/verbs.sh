# verbs.sh - the words in which the lab's scenes are written: hosts, walls, nodes and what to expect of them.
#
# Sourced by scene.sh, in a process of its own for each scene. Everything it makes carries that
# process's number: namespaces phx<pid><host> and one directory. All interfaces are born inside these
# namespaces and all nftables rules live there, so the machine's own network is never touched.
#
# A subnet is a bridge in the namespace phx<pid>sw, which nobody else is in. A host is a namespace with an
# interface per subnet, called as the subnet is. The other end of its cable is HOST.SUBNET at the switch:
# pulled there, the host keeps its address and hears nothing, as with a cable that is pulled.
#
# Nothing here sleeps and hopes: `ask` puts a question with a time limit to nodes, and they answer when it is
# true. Commands are waited for with `wait`, because bash runs its traps only then.

me=phx$$
tool=$lab/tool
declare -A pid_of name_of args_of    # of a node, by its host
declare -A known                     # hosts
said= pairs=- direct=- reach_s=- took_s=- recover_s=- ratio_ssh=- ratio_socat=-
started=0                            # when the first node began
asking=

note() { printf '# %s\n' "$*"; }

die() { # why: ends the scene as failed
    printf 'FAILED %s: %s\n' "$scene" "$*"
    exit 1
}

skipped() { # why: ends the scene, and the table says so
    printf 'row\t%s\tskipped: %s\n' "$scene" "$*"
    exit 0
}

try() { # command: it must work
    local out
    out=$("$@" 2>&1) || die "$*: $out"
}

# ---- Cleaning up ------------------------------------------------------------------------------------------

# All that carries the prefix $1: processes in the namespaces, the namespaces, and with them interfaces and
# rules, and the directory.
sweep() {
    local one pid
    for one in /run/netns/"$1"[a-z]*; do
        [ -e "$one" ] || continue
        one=${one##*/}
        for pid in $(ip netns pids "$one" 2> /dev/null); do kill -KILL "$pid" 2> /dev/null; done
        ip netns del "$one" 2> /dev/null
    done
    rm -rf "${TMPDIR:-/tmp}/$1".*
}

# What dead runs left: the number in the name is that of no living scene.
sweep_dead() {
    local one pid
    for one in /run/netns/phx[0-9]*[a-z]* "${TMPDIR:-/tmp}"/phx[0-9]*.??????; do
        [ -e "$one" ] || continue
        pid=$(expr "${one##*/}" : 'phx\([0-9]*\)[a-z.]') || continue
        grep -qsa scene.sh "/proc/$pid/cmdline" || sweep "phx$pid"
    done
}

clean_up() {
    local status=$? host
    trap - EXIT
    trap '' INT TERM HUP
    if [ "$status" -ne 0 ]; then
        for host in "${!name_of[@]}"; do
            note "the last words of $host (${name_of[$host]}):"
            tail -n "${LAB_TAIL:-8}" "$dir/$host.log" 2> /dev/null | cut -c1-200 | sed 's/^/#     /'
        done
        [ -z "${LAB_KEEP-}" ] || { mkdir -p "$LAB_KEEP" && cp "$dir"/*.log "$LAB_KEEP"; }
    fi
    exec 2> /dev/null # bash tells of each process that is killed now
    [ -z "$asking" ] || kill "$asking"
    sweep "$me"
    wait
    rm -rf "$dir" # once more: somebody may have written while it went
    exit "$status"
}

# ---- Subnets and hosts ------------------------------------------------------------------------------------

space() { # host: an empty namespace
    try ip netns add "$me$1"
    known[$1]=1
    # Looking for duplicates of IPv6 addresses would make every interface deaf for its first seconds.
    at "$1" sh -c 'cd /proc/sys/net/ipv6/conf 2> /dev/null || exit 0; for i in all default; do
        echo 0 > $i/accept_dad; done' || die "no rest from IPv6 in $1"
    try ip -n "$me$1" link set lo up
}

subnet() { # name...
    local one
    [ -n "${known[sw]-}" ] || space sw
    for one; do
        try ip -n "$me"sw link add "$one" type bridge
        try ip -n "$me"sw link set "$one" up
    done
}

wire() { # host, subnet, address/length...: one more interface
    local host=$1 net=$2 one
    shift 2
    [ -n "${known[$host]-}" ] || space "$host"
    try ip -n "$me$host" link add "$net" type veth peer name "$host.$net" netns "$me"sw
    try ip -n "$me"sw link set "$host.$net" master "$net" up
    for one; do
        case $one in
        *:*) try ip -n "$me$host" addr add "$one" dev "$net" nodad ;;
        *) try ip -n "$me$host" addr add "$one" dev "$net" ;;
        esac
    done
    try ip -n "$me$host" link set "$net" up
}

host() { # host, subnet, address/length [gateway's address]
    wire "$1" "$2" "$3"
    [ -z "${4-}" ] || try ip -n "$me$1" route add default via "$4" # of either family
}

gateway() { # host, subnet=address/length...: forwards what its rules let through
    local host=$1 one
    shift
    for one; do wire "$host" "${one%%=*}" "${one#*=}"; done
    at "$host" sh -c 'cd /proc/sys/net && echo 1 > ipv4/ip_forward &&
        { [ ! -e ipv6 ] || echo 1 > ipv6/conf/all/forwarding; }' || die "no forwarding in $host"
}

at() { # host, command: there, now
    local host=$1
    shift
    "$tool" enter "$me$host" "$@"
}

rules() { # host: nftables commands from standard input
    local out
    out=$("$tool" enter "$me$1" nft -f - 2>&1) || die "nft in $1: $out"
}

# ---- Walls ------------------------------------------------------------------------------------------------

# A stateful firewall: what is inside may go out and be answered, nothing else comes in.
firewall() { # gateway, inner subnet, outer subnet
    rules "$1" << END
add table inet wall
add chain inet wall forward { type filter hook forward priority 0; policy drop; }
add rule inet wall forward ct state invalid drop
add rule inet wall forward ct state established,related accept
add rule inet wall forward ct status dnat accept
add rule inet wall forward iifname "$2" oifname "$3" accept
END
}

# A firewall that lets nothing through by itself; then `pass`.
closed() { # gateway
    rules "$1" << END
add table inet wall
add chain inet wall forward { type filter hook forward priority 0; policy drop; }
add rule inet wall forward ct state established,related accept
END
}

pass() { # gateway, from address, to address, port
    rules "$1" <<< "add rule inet wall forward ip saddr $2 ip daddr $3 tcp dport $4 ct state new accept"
}

# Address translation, with the firewall that comes with it. In the words of RFC 4787 and 3489:
#   cone        one outside port per inside (address, port), for whatever it talks to, and whoever sends there
#               gets in (endpoint-independent mapping and filtering)
#   restricted  the same mapping as far as ports are free, but only who was spoken to gets in
#   symmetric   another, random port for each connection, and only who was spoken to gets in
nat() { # gateway, kind, inner subnet, outer subnet
    local how=masquerade
    firewall "$1" "$3" "$4"
    [ "$2" != symmetric ] || how='masquerade fully-random'
    rules "$1" << END
add table ip nat
add chain ip nat out { type nat hook postrouting priority 100; }
add chain ip nat in { type nat hook prerouting priority -100; }
add rule ip nat out oifname "$4" $how
END
    [ "$2" = cone ] || return 0
    rules "$1" << END
add map ip nat back { type inet_service : ipv4_addr; flags dynamic; timeout 10m; }
add chain ip nat learn { type filter hook postrouting priority 90; }
add rule ip nat learn iifname "$3" oifname "$4" tcp flags syn update @back { tcp sport : ip saddr }
add rule ip nat in iifname "$4" dnat to tcp dport map @back
END
}

forward() { # gateway, outer subnet, outer port, inner address:port: a forwarded port
    rules "$1" <<< "add rule ip nat in iifname \"$2\" tcp dport $3 dnat to $4"
}

# The translation forgets what it had: packets of old connections come out of other ports, or of none.
rebind() { # gateway
    at "$1" "$tool" flush || die "cannot flush the connections of $1"
}

loss() { # host, percent [interface]: of what comes in, and so both ways of what is forwarded
    rules "$1" << END
add table ip loss
add chain ip loss in { type filter hook prerouting priority -300; }
add rule ip loss in iifname ${3:-!= lo} numgen random mod 1000 < $(($2 * 10)) counter drop
END
}

hole() { # host, address, bytes: larger packets from there vanish, and nobody is told
    rules "$1" << END
add table ip hole
add chain ip hole in { type filter hook prerouting priority -300; }
add rule ip hole in ip saddr $2 ip length > $3 counter drop
END
}

lost_packets() { at "$1" nft list table ip loss | sed -n 's/.*counter packets \([0-9]*\).*/\1/p'; } # host

rate() { # host, subnet, rate as tc says it: of what goes out there
    try tc -n "$me$1" qdisc replace dev "$2" root tbf rate "$3" burst 32kb latency 100ms
}

mtu() { # host, subnet, bytes
    try ip -n "$me$1" link set "$2" mtu "$3"
}

pull() { try ip -n "$me"sw link set "$1.$2" down; } # host, subnet: the cable
plug() { try ip -n "$me"sw link set "$1.$2" up; }

move() { # host, subnet, new address/length [gateway's address]
    try ip -n "$me$1" addr flush dev "$2"
    try ip -n "$me$1" addr add "$3" dev "$2"
    [ -z "${4-}" ] || try ip -n "$me$1" route replace default via "$4"
}

# ---- Nodes ------------------------------------------------------------------------------------------------

node() { # host, name, what else node.c takes
    local host=$1 name=$2
    shift 2
    [ "$started" != 0 ] || started=$("$tool" now)
    name_of[$host]=$name
    args_of[$host]=$*
    "$tool" enter "$me$host" "$lab/node" -s "$dir/$host" -n "$name" -k "$dir/key" -v "${LAB_LOG:-3}" \
        "$@" >> "$dir/$host.log" 2>&1 &
    pid_of[$host]=$!
}

# One that listens on the lab's port at all its addresses, and knows the hubs given.
peer() { # host, name, hub address...
    local host=$1 name=$2 one args=()
    shift 2
    for one; do args+=(-j "tcp://$one"); done
    node "$host" "$name" -l tcp://0.0.0.0:7000 ${fast-} "${args[@]}"
}

killed() { # host: its node dies and cannot say so
    kill -KILL "${pid_of[$1]}" 2> /dev/null
    wait "${pid_of[$1]}" 2> /dev/null
    rm -f "$dir/$1"
}

again() { # host: its node is started again, as another process
    node "$1" "${name_of[$1]}" ${args_of[$1]}
}

leaves() { # host: its node says goodbye
    ask 5 quit "$1" || die "$1 does not leave: $said"
    wait "${pid_of[$1]}" || die "$1 ended with status $?"
}

# ---- Questions --------------------------------------------------------------------------------------------

ask() { # seconds, question, host...: $said is a line "HOST ANSWER" of each; fails unless all say ok
    local seconds=$1 words=$2 one sockets=() status
    shift 2
    for one; do sockets+=("$dir/$one"); done
    "$tool" ask "$seconds" "$words" "${sockets[@]}" > "$dir/said" &
    asking=$!
    wait "$asking"
    status=$?
    asking=
    said=$(< "$dir/said")
    return $status
}

# For awk: what each host's node is called.
calls() { local one; for one; do echo "$one ${name_of[$one]}"; done; }
names() { local one; for one; do printf '%s ' "${name_of[$one]}"; done; }

# How many of the pairs among the hosts talk, both ways: $pairs, and the seconds until the last of them
# did: the first time as $reach_s since the first node began, later as $took_s since the question.
reach() { # seconds, host...
    local seconds=$1 all found start=$started
    shift
    [ "$reach_s" = - ] || start=$("$tool" now)
    all=$(names "$@")
    ask "$seconds" "reach $seconds $all" "$@" || :
    found=$(calls "$@" | cat - "$dir/said" | awk -v n=$# -v start="$start" '
    NR <= n { name[$1] = $2; next }
    $2 == "ok" { if ($4 > last) last = $4 }
    $2 != "ok" && $2 != "no" { for (h in name) miss[name[$1], name[h]] = 1 }
    $2 == "no" { for (i = 6; i <= NF; i++) miss[name[$1], $i + 0] = 1 }
    END {
        for (a in name) for (b in name)
            if (name[a] < name[b]) {
                all++
                good += !((name[a], name[b]) in miss) && !((name[b], name[a]) in miss)
            }
        printf "%d/%d %.2f\n", good, all, (last > 0 ? (last - start) / 1e6 : 0)
    }')
    read -r pairs took_s <<< "$found"
    [ "$reach_s" != - ] || reach_s=$took_s
}

all_reach() { # seconds, host...: all of them, or the scene fails
    reach "$@"
    [ "${pairs#*/}" -gt 0 ] && [ "${pairs%/*}" = "${pairs#*/}" ] \
        || die "only $pairs pairs talk within $1 s: $(grep -v ' ok' "$dir/said")"
}

expect_pairs() { # what the last reach must have found
    [ "$pairs" = "$1" ] || die "$pairs pairs talk and it should be $1: $(grep -v ' ok' "$dir/said" | head -5)"
}

linked() { # seconds, host, host...: the first has a direct link with each of the others
    local seconds=$1 host=$2
    shift 2
    ask "$seconds" "linked $seconds $(names "$@")" "$host" || die "$host is not linked with all of $*: $said"
}

# The pairs among the hosts with a direct link, as $direct.
count_direct() { # host...
    ask 5 hops "$@" || die "hops: $said"
    direct=$(calls "$@" | cat - "$dir/said" | awk -v n=$# '
        NR <= n { name[$1] = $2; is[$2] = 1; next }
        { for (i = 3; i <= NF; i++) { split($i, p, "="); if (p[2] == 1) one[name[$1], p[1]] = 1 } }
        END {
            for (a in is) for (b in is)
                if (a < b) { all++; good += ((a, b) in one) || ((b, a) in one) }
            printf "%d/%d\n", good, all
        }')
}

# Dials are paced, and on a machine under load half a second of rest may only be a pause between two of them,
# so it is looked at again for up to 30 s.
expect_direct() { # "n/m", host...
    local want=$1 until=$((SECONDS + 30))
    shift
    direct=
    while [ "$direct" != "$want" ] && [ $SECONDS -lt $until ]; do
        ask 30 'settled 30' "$@" || note "still moving: $said"
        count_direct "$@"
    done
    [ "$direct" = "$want" ] || die "$direct pairs are direct and it should be $want: $said"
}

# ---- Traffic ----------------------------------------------------------------------------------------------

talk() { # milliseconds, host...: everybody to everybody
    local every=$1
    shift
    ask 5 "talk $every $(names "$@")" "$@" || die "talk: $said"
}

# Until each of them has had so many messages acknowledged by everybody.
spoken() { # seconds, count, host...
    local seconds=$1 count=$2
    shift 2
    ask "$seconds" "spoken $seconds $count" "$@" || die "too little was said: $(grep -v ' ok' <<< "$said")"
}

# All fall silent, all outcomes are in, and between those that lived all the while everything has come
# once and in order. Others may have missed what was said before they were born, but no more.
delivered() { # seconds, host... [-- host...: those that were started again meanwhile]
    local seconds=$1 one new=0 list= all=() said_all
    shift
    for one; do
        if [ "$one" = -- ]; then new=1; continue; fi
        all+=("$one")
        list+="$one ${name_of[$one]} $new"$'\n'
    done
    ask "$seconds" "hush $seconds" "${all[@]}" \
        || die "not everything has an outcome: $(grep -v ' ok' <<< "$said")"
    said_all=$(sed 's/^/S /' <<< "$said")
    ask 5 tally "${all[@]}" || die "tally: $said"
    said_all+=$'\n'$(sed 's/^/H /' <<< "$said")
    checked=$(printf 'L %s' "${list//$'\n'/$'\n'L }" | cat - <(echo; echo "$said_all") | awk '
        $1 == "L" && NF == 4 { name[$2] = $3; fresh[$3] = $4 }
        $1 == "S" { for (i = 4; i <= NF; i++) { split($i, p, "[:/]"); sent[name[$2], p[1]] = p[2]
                    got[name[$2], p[1]] = p[3]; lost[name[$2], p[1]] = p[4] } }
        $1 == "H" { for (i = 4; i <= NF; i++) { split($i, p, "[:/]"); k = p[1] SUBSEP name[$2]
                    heard[k] += p[2]; missed[k] += p[3]; turned[k] += p[4] } }
        END {
            for (k in turned) if (turned[k]) { bad++; split(k, p, SUBSEP)
                why = why " " p[1] "->" p[2] " doubled-or-turned " turned[k] }
            for (k in sent) {
                split(k, p, SUBSEP)
                if (!(p[2] in fresh) || fresh[p[1]] || fresh[p[2]]) continue
                total += sent[k]
                if (sent[k] != heard[k] + 0 || missed[k] || lost[k] || sent[k] != got[k]) {
                    bad++
                    why = why sprintf(" %s->%s sent %d acked %d failed %d heard %d", p[1], p[2],
                                      sent[k], got[k], lost[k], heard[k])
                }
            }
            print bad ? "no" why : "ok " total + 0
        }')
    [ "${checked%% *}" = ok ] || die "delivery: ${checked:0:600}"
    messages=${checked#* }
    [ "$messages" -gt 0 ] || die 'delivery: nobody said anything'
    note "$messages messages, each once and in order"
}

mark() { ask 5 mark "$@" || die "mark: $said"; } # host...

# The longest silence that any of the hosts heard from any other since the mark, as $recover_s.
longest_gap() { # host...
    ask 5 "gap $(names "$@")" "$@" || die "gap: $said"
    recover_s=$(awk '$3 > worst { worst = $3 } END { printf "%.2f\n", worst / 1e6 }' "$dir/said")
}

below() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a <= b) }'; } # figure, limit

bar() { # name, figure, limit, 1 if small is good
    local verdict=short
    if [ "${4-1}" = 1 ]; then below "$2" "$3" && verdict=ok; else below "$3" "$2" && verdict=ok; fi
    printf 'bar\tlab_%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$verdict"
}

# ---- SSH --------------------------------------------------------------------------------------------------

keys() { # one key for all hosts, made once
    [ ! -e "$dir/id" ] || return 0
    try ssh-keygen -q -t ed25519 -N '' -f "$dir/id"
    try ssh-keygen -q -t ed25519 -N '' -f "$dir/hostkey"
    cp "$dir/id.pub" "$dir/authorized"
    chmod 600 "$dir/authorized"
    echo "* $(cut -d' ' -f1,2 "$dir/hostkey.pub")" > "$dir/known_hosts"
    cat > "$dir/ssh_config" << END
Host *
    IdentityFile $dir/id
    IdentitiesOnly yes
    UserKnownHostsFile $dir/known_hosts
    StrictHostKeyChecking yes
    BatchMode yes
    ExitOnForwardFailure yes
    ServerAliveInterval 2
    ServerAliveCountMax 2
    ConnectTimeout 5
    LogLevel ERROR
END
}

sshd() { # host, more options: on port 22 of all its addresses, for root with the key
    local host=$1
    shift
    keys
    # sshd insists on /run/sshd, which Debian makes when the service starts: it gets a /run of its own.
    "$tool" enter "$me$host" unshare -m sh -c 'mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd &&
        exec /usr/sbin/sshd "$@"' sshd -D -e -f /dev/null -h "$dir/hostkey" -o PidFile=none -o UsePAM=no \
        -o StrictModes=no -o PermitRootLogin=prohibit-password -o AuthorizedKeysFile="$dir/authorized" \
        -o PasswordAuthentication=no -o ListenAddress=0.0.0.0 -o UseDNS=no -o MaxStartups=100 \
        "$@" > "$dir/sshd-$host.log" 2>&1 &
    pid_of[sshd-$host]=$!
}

sshd_killed() { # host: the listener and all its sessions
    local pid
    for pid in $(ip netns pids "$me$1"); do
        case $(cat "/proc/$pid/comm" 2> /dev/null) in sshd*) kill -KILL "$pid" 2> /dev/null ;; esac
    done
    wait "${pid_of[sshd-$1]}" 2> /dev/null
}

until_open() { # host, address, port: seen from the host, within 10 s
    local tries=0
    until at "$1" "$tool" open "$2" "$3"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || die "nobody listens at $2:$3"
        sleep 0.05
    done
}
