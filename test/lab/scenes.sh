# scenes.sh - the scenes of the lab: for each its walls, its nodes, and what must hold.
# They are those of promise 132.
#
# In all of them the outside is 198.51.100.0/24 (RFC 5737), sites are inside 10.0.0.0/8, the hub is at .9,
# and every node listens at port 7000 of all its addresses. `scene_NAME` is called by scene.sh; the list that
# run.sh shows is the comment on the line above each.

hub=198.51.100.9:7000

# A hub outside and two sites of two nodes behind gateways; the walls are the caller's.
two_sites() {
    subnet out x y
    host h out 198.51.100.9/24
    gateway gx out=198.51.100.1/24 x=10.1.0.1/24
    gateway gy out=198.51.100.2/24 y=10.2.0.1/24
    host a x 10.1.0.5/24 10.1.0.1
    host b x 10.1.0.6/24 10.1.0.1
    host c y 10.2.0.5/24 10.2.0.1
    host d y 10.2.0.6/24 10.2.0.1
}

# The nodes of two_sites, who know the hub only.
two_sites_nodes() {
    peer h 1
    peer a 2 "$hub"
    peer b 3 "$hub"
    peer c 4 "$hub"
    peer d 5 "$hub"
}

# All talk, each site directly and the sites through the hub; then traffic for a while, and nothing is lost.
two_sites_hold() {
    all_reach 20 h a b c d
    expect_direct 6/10 h a b c d
    talk 10 h a b c d
    spoken 20 100 h a b c d
    delivered 20 h a b c d
}

nat_scene() { # kind
    two_sites
    nat gx "$1" x out
    nat gy "$1" y out
    two_sites_nodes
    two_sites_hold
}

# two sites behind full-cone NATs, a hub outside
scene_cone() { nat_scene cone; }

# two sites behind port-restricted NATs, a hub outside
scene_restricted() { nat_scene restricted; }

# two sites behind symmetric NATs, a hub outside
scene_symmetric() { nat_scene symmetric; }

# as restricted, and a forwarded port is advertised: the other site comes directly to it
scene_forwarded() {
    two_sites
    nat gx restricted x out
    nat gy symmetric y out
    forward gx out 7001 10.1.0.5:7000
    peer h 1
    node a 2 -l tcp://0.0.0.0:7000 -a tcp://198.51.100.1:7001 -j "tcp://$hub"
    peer b 3 "$hub"
    peer c 4 "$hub"
    peer d 5 "$hub"
    all_reach 20 h a b c d
    linked 20 c a
    linked 20 d a
    expect_direct 8/10 h a b c d
}

# stateful firewalls around both sites, no translation
scene_firewalls() {
    two_sites
    firewall gx x out
    firewall gy y out
    route_sites
    two_sites_nodes
    two_sites_hold
}

route_sites() {
    local one
    for one in h gy; do try ip -n "$me$one" route add 10.1.0.0/24 via 198.51.100.1; done
    for one in h gx; do try ip -n "$me$one" route add 10.2.0.0/24 via 198.51.100.2; done
}

# only one site has a firewall: its nodes dial the others, so every pair is direct (promise 11)
scene_one_firewall() {
    two_sites
    firewall gx x out
    route_sites
    two_sites_nodes
    all_reach 20 h a b c d
    linked 20 a b c d
    linked 20 b c d
    expect_direct 10/10 h a b c d
}

# walls that open while all talk: relayed pairs go over to direct links; then the sites are cut off from each
# other without a word, and all goes back to the relay; order is kept and nothing lost (promises 14, 15)
scene_opens() {
    local start one
    fast='-f -b 60'
    two_sites
    firewall gx x out
    firewall gy y out
    route_sites
    two_sites_nodes
    all_reach 20 h a b c d
    expect_direct 6/10 h a b c d
    talk 10 h a b c d
    spoken 20 50 h a b c d
    start=$("$tool" now)
    for one in gx gy; do rules $one <<< 'delete table inet wall'; done
    for one in a b; do linked 70 $one c d; done
    start=$((${said##* } - start))
    bar direct_again_s "$(awk -v us=$start 'BEGIN { print us / 1e6 }')" 60
    spoken 20 200 h a b c d
    mark h a b c d
    rules gx << 'END'
add table inet wall
add chain inet wall forward { type filter hook forward priority 0; }
add rule inet wall forward ip saddr 10.1.0.0/16 ip daddr 10.2.0.0/16 drop
add rule inet wall forward ip saddr 10.2.0.0/16 ip daddr 10.1.0.0/16 drop
END
    ask 40 'relayed 40 4 5' a b || die "still direct: $said"
    all_reach 40 h a b c d
    longest_gap h a b c d
    bar relay_again_s "$recover_s" 3
    recover_s=-
    delivered 20 h a b c d
    expect_direct 6/10 h a b c d
}

# a site behind a NAT behind the provider's NAT, and one behind one
scene_two_level() {
    subnet out mid x y
    host h out 198.51.100.9/24
    gateway gm out=198.51.100.1/24 mid=100.64.0.1/24
    gateway gx mid=100.64.0.2/24 x=10.1.0.1/24
    try ip -n "${me}gx" route add default via 100.64.0.1
    gateway gy out=198.51.100.2/24 y=10.2.0.1/24
    nat gm symmetric mid out
    nat gx restricted x mid
    nat gy restricted y out
    host a x 10.1.0.5/24 10.1.0.1
    host b x 10.1.0.6/24 10.1.0.1
    host c y 10.2.0.5/24 10.2.0.1
    host d y 10.2.0.6/24 10.2.0.1
    two_sites_nodes
    two_sites_hold
}

# both sites use 10.0.0.5 and 10.0.0.6, being different machines: nobody is taken for another
scene_overlap() {
    subnet out x y
    host h out 198.51.100.9/24
    gateway gx out=198.51.100.1/24 x=10.0.0.1/24
    gateway gy out=198.51.100.2/24 y=10.0.0.1/24
    nat gx restricted x out
    nat gy restricted y out
    host a x 10.0.0.5/24 10.0.0.1
    host b x 10.0.0.6/24 10.0.0.1
    host c y 10.0.0.5/24 10.0.0.1
    host d y 10.0.0.6/24 10.0.0.1
    two_sites_nodes
    two_sites_hold
    # Where b and d have their links: with 10.0.0.5 both, and it is another node.
    linked 5 b a
    linked 5 d c
}

# a gateway with an address in each of two subnets that know nothing of each other relays between them
scene_two_addresses() {
    subnet x y
    wire g x 10.1.0.1/24
    wire g y 10.2.0.1/24
    host a x 10.1.0.5/24
    host b x 10.1.0.6/24
    host c y 10.2.0.5/24
    peer g 1
    peer a 2 10.1.0.1:7000
    peer b 3 10.1.0.1:7000
    peer c 4 10.2.0.1:7000
    all_reach 20 g a b c
    linked 20 a g b
    expect_direct 4/6 g a b c
}

# 5 % of all packets are lost at both gateways
scene_loss() {
    two_sites
    nat gx restricted x out
    nat gy restricted y out
    loss gx 5
    loss gy 5
    two_sites_nodes
    all_reach 60 h a b c d
    talk 20 h a b c d
    spoken 60 100 h a b c d
    delivered 60 h a b c d
    ask 60 'pour 60 4 40000000' a || die "nothing gets through: $said"
    bar loss5_pour_s "$(awk '{ print $3 / 1e6 }' <<< "$said")" 60
    for one in gx gy; do
        [ "$(lost_packets $one)" -gt 100 ] || die "$one lost only $(lost_packets $one) packets"
    done
    count_direct h a b c d
}

# a fifth of what comes back from outside is lost at one gateway, and nothing of what goes out
scene_one_way_loss() {
    two_sites
    nat gx restricted x out
    nat gy restricted y out
    loss gx 20 out
    two_sites_nodes
    all_reach 60 h a b c d
    talk 20 h a b c d
    spoken 60 50 h a b c d
    delivered 60 h a b c d
    [ "$(lost_packets gx)" -gt 50 ] || die "gx lost only $(lost_packets gx) packets"
    count_direct h a b c d
}

# 10 Mbit/s at the gateways: a pour takes what the wire takes, and small messages of others still pass
scene_narrow() {
    local us
    two_sites
    nat gx restricted x out
    nat gy restricted y out
    for one in gx gy; do rate $one out 10mbit; done
    rate h out 10mbit
    two_sites_nodes
    all_reach 20 h a b c d
    talk 50 b d
    mark b d
    ask 60 'pour 60 4 5000000' a || die "the pour does not end: $said"
    us=${said##* }
    longest_gap b d
    recover_s=-
    delivered 20 b d
    # 5 MB at 10 Mbit/s are 4 s; what frames, packets and the relay cost may be a quarter.
    bar narrow_pour_s "$(awk -v us="$us" 'BEGIN { print us / 1e6 }')" 5
    count_direct h a b c d
}

# a path of 1280 bytes and one of 576 between interfaces that believe in 1500: routers say what does not fit
scene_mtu() {
    local n
    subnet out mid1 mid2 x y
    host h out 198.51.100.9/24
    for n in 1 2; do gateway m$n out=198.51.100.$n/24 mid$n=100.64.$n.1/24; done
    gateway gx mid1=100.64.1.2/24 x=10.1.0.1/24
    gateway gy mid2=100.64.2.2/24 y=10.2.0.1/24
    for n in 1 2; do try ip -n "${me}h" route add 100.64.$n.0/24 via 198.51.100.$n; done
    try ip -n "${me}gx" route add default via 100.64.1.1
    try ip -n "${me}gy" route add default via 100.64.2.1
    for one in m1 gx; do mtu $one mid1 1280; done
    for one in m2 gy; do mtu $one mid2 576; done
    nat gx restricted x mid1
    nat gy restricted y mid2
    host a x 10.1.0.5/24 10.1.0.1
    host b x 10.1.0.6/24 10.1.0.1
    host c y 10.2.0.5/24 10.2.0.1
    host d y 10.2.0.6/24 10.2.0.1
    two_sites_nodes
    two_sites_hold
    ask 30 'pour 30 4 20000000' a || die "bulk does not pass: $said"
    # Somebody must have been told that the path is narrower than the interface.
    at h ip route get 100.64.2.2 | grep -q 'mtu 576' || die 'the hub never met the narrow path'
}

# packets above 1280 bytes between two hosts vanish, and nobody is told: these two talk through others
scene_hole() {
    subnet out
    host h out 198.51.100.9/24
    host a out 198.51.100.11/24
    host b out 198.51.100.12/24
    host c out 198.51.100.13/24
    hole a 198.51.100.12 1280
    hole b 198.51.100.11 1280
    peer h 1
    peer a 2 "$hub"
    peer b 3 "$hub"
    peer c 4 "$hub"
    all_reach 20 h a b c
    talk 20 h a b c
    spoken 60 100 h a b c
    mark a b
    spoken 90 1500 h a b c
    longest_gap a b
    bar hole_silence_s "$recover_s" 2
    recover_s=-
    delivered 60 h a b c
    expect_direct 5/6 h a b c
}

# a cable is pulled and plugged in again: others notice, and nothing that was said is lost
scene_cable() {
    fast='-f -b 60'
    two_sites
    nat gx restricted x out
    nat gy restricted y out
    two_sites_nodes
    all_reach 20 h a b c d
    talk 20 h a b c d
    mark h b c d
    pull a x
    ask 15 "lost 15 ${name_of[a]}" h b c d || die "nobody misses a: $said"
    ask 10 "linked 10 3" a && die 'a has a link without a cable'
    plug a x
    all_reach 40 h a b c d
    note "$took_s s after the cable is back"
    delivered 30 h a b c d
    count_direct h a b c d
}

# a node's address changes while it runs, then that of a whole site at its NAT
scene_move() {
    fast='-f -b 60'
    two_sites
    nat gx restricted x out
    nat gy symmetric y out
    two_sites_nodes
    all_reach 20 h a b c d
    talk 20 h a b c d
    move a x 10.1.0.77/24 10.1.0.1
    all_reach 40 h a b c d
    note "$took_s s after a node's address changed"
    linked 40 b a
    move gy out 198.51.100.22/24
    rebind gy
    all_reach 40 h a b c d
    note "$took_s s after a site's address changed"
    delivered 30 h a b c d
    count_direct h a b c d
}

# Figure 1's two subnets: a and e with fixed names, the rest with addresses that nobody was told; of all
# between the subnets only port 22 from gateway to gateway passes.
figure1_walls() {
    subnet x y wan
    gateway wall x=10.1.0.1/24 y=10.2.0.1/24
    closed wall
    pass wall 10.1.0.10 10.2.0.10 22
    pass wall 10.2.0.10 10.1.0.10 22
    host a x 10.1.0.10/24 10.1.0.1
    host b x 10.1.0.101/24 10.1.0.1
    host c x 10.1.0.102/24 10.1.0.1
    host d x 10.1.0.103/24 10.1.0.1
    host e y 10.2.0.10/24 10.2.0.1
    host f y 10.2.0.104/24 10.2.0.1
    host g y 10.2.0.105/24 10.2.0.1
    host h y 10.2.0.106/24 10.2.0.1
    sshd a
    sshd e
    until_open a 10.2.0.10 22
}

# figure 1 of the paper, and then machine h joins Y
scene_figure1() {
    figure1_walls
    peer e 5
    # The link between the gateways: a node that does not listen outside, reached through its sshd.
    node a 1 -l tcp://0.0.0.0:7000 -S "$dir/ssh_config" -j ssh://root@10.2.0.10/127.0.0.1:7000
    peer b 2 10.1.0.10:7000
    peer c 3 10.1.0.10:7000
    peer d 4 10.1.0.10:7000
    peer f 6 10.2.0.10:7000
    peer g 7 10.2.0.10:7000
    all_reach 30 a b c d e f g
    # X has six pairs, Y has three, and a-e through ssh is one: (c) of the figure.
    expect_direct 10/21 a b c d e f g
    peer h 8 10.2.0.10:7000
    linked 20 h e f g
    all_reach 30 a b c d e f g h
    expect_direct 13/28 a b c d e f g h
    talk 20 a b c d e f g h
    spoken 20 50 a b c d e f g h
    delivered 20 a b c d e f g h
}

# Three sites of eight behind three different NATs; one hub outside.
three_sites() {
    local site kind n=0 i
    subnet out s1 s2 s3
    host h out 198.51.100.9/24
    crowd=()
    for kind in cone restricted symmetric; do
        n=$((n + 1))
        gateway g$n out=198.51.100.$n/24 s$n=10.$n.0.1/24
        nat g$n $kind s$n out
        for i in 1 2 3 4 5 6 7 8; do
            host n$n$i s$n 10.$n.0.1$i/24 10.$n.0.1
            crowd+=(n$n$i)
        done
    done
}

three_sites_nodes() { # what the node n11 takes beside
    local one k=1
    peer h 100
    for one in "${crowd[@]}"; do
        if [ "$one" = n11 ] && [ $# -gt 0 ]; then
            node n11 1 -l tcp://0.0.0.0:7000 ${fast-} -j "tcp://$hub" "$@"
        else
            peer "$one" $k "$hub"
        fi
        k=$((k + 1))
    done
}

# the hub is behind a wall that lets only port 22 in, and its sshd is killed and comes back: sites hold on
scene_port22() {
    fast='-f -b 60'
    subnet out w x y
    gateway gw out=198.51.100.9/24 w=10.9.0.1/24
    closed gw
    pass gw 0.0.0.0/0 10.9.0.9 22
    gateway gx out=198.51.100.1/24 x=10.1.0.1/24
    gateway gy out=198.51.100.2/24 y=10.2.0.1/24
    nat gx restricted x out
    nat gy symmetric y out
    for one in gx gy; do try ip -n "$me$one" route add 10.9.0.0/24 via 198.51.100.9; done
    host h w 10.9.0.9/24 10.9.0.1
    host a x 10.1.0.5/24 10.1.0.1
    host b x 10.1.0.6/24 10.1.0.1
    host c y 10.2.0.5/24 10.2.0.1
    sshd h
    until_open a 10.9.0.9 22
    node h 1 -l tcp://127.0.0.1:7000 $fast
    through_ssh a 2 10.1.0.5
    through_ssh b 3 10.1.0.6
    through_ssh c 4 10.2.0.5
    all_reach 30 h a b c
    expect_direct 4/6 h a b c
    talk 20 h a b c
    spoken 20 50 h a b c
    mark h a b c
    sshd_killed h
    sshd h
    all_reach 40 h a b c
    longest_gap h a b c
    note "$recover_s s of silence at the most when sshd was killed"
    recover_s=-
    delivered 40 h a b c
}

# They say where they listen: a tunnel's end does not show the address of a listener on all interfaces.
through_ssh() { # host, name, address
    node "$1" "$2" -l "tcp://$3:7000" $fast -S "$dir/ssh_config" -j ssh://root@10.9.0.9/127.0.0.1:7000
}

# IPv6 all over: two sites behind stateful firewalls, no translation
scene_ipv6() {
    subnet out x y
    host h out 2001:db8::9/64
    gateway gx out=2001:db8::1/64 x=2001:db8:1::1/64
    gateway gy out=2001:db8::2/64 y=2001:db8:2::1/64
    host a x 2001:db8:1::5/64 2001:db8:1::1
    host b x 2001:db8:1::6/64 2001:db8:1::1
    host c y 2001:db8:2::5/64 2001:db8:2::1
    host d y 2001:db8:2::6/64 2001:db8:2::1
    firewall gx x out
    firewall gy y out
    for one in h gy; do try ip -n "$me$one" route add 2001:db8:1::/64 via 2001:db8::1; done
    for one in h gx; do try ip -n "$me$one" route add 2001:db8:2::/64 via 2001:db8::2; done
    node h 1 -l 'tcp://[::]:7000'
    for one in a:2 b:3 c:4 d:5; do
        node ${one%:*} ${one#*:} -l 'tcp://[::]:7000' -j 'tcp://[2001:db8::9]:7000'
    done
    two_sites_hold
}

# as restricted and symmetric, and all links speak TLS
scene_tls() {
    [ "$(cat "$lab/flags")" = -DPHX_TLS ] || skipped 'this build has no TLS (libbearssl-dev, phoenix.h)'
    fast=-t
    two_sites
    nat gx restricted x out
    nat gy symmetric y out
    two_sites_nodes
    two_sites_hold
    ask 60 'pour 60 4 100000000' a || die "pour: $said"
    note "100 MB through the relay with TLS: $(awk '{ print $3 / 1e6 }' <<< "$said") s"
}

# two gateways and one of them does not relay: all goes through the other, and without that nothing does
scene_refuses() {
    fast=-f
    two_gateways -r
    all_reach 20 a b c d g1 g2
    linked 20 a g1 g2
    linked 20 c g1 g2
    killed g1
    ask 20 'lost 20 1' a b c d || die "g1 is not missed: $said"
    # Each side by itself, and both sides with the gateway, which is there for itself only: 1 + 1 + 4.
    reach 3 a b c d g2
    expect_pairs 6/10
    again g1
    all_reach 30 a b c d g1 g2
    count_direct a b c d g1 g2
}

# two nodes of a site get new addresses ten times, more than a card holds: they are found at the last ones
scene_wanderers() {
    local i
    fast='-f -b 60'
    two_sites
    nat gx restricted x out
    nat gy symmetric y out
    two_sites_nodes
    all_reach 20 h a b c d
    talk 20 h a b c d
    for i in 1 2 3 4 5 6 7 8 9 10; do
        move a x 10.1.0.1$i/24 10.1.0.1
        move b x 10.1.0.2$i/24 10.1.0.1
        all_reach 20 h a b c d
    done
    linked 40 a b
    delivered 30 h a b c d
    count_direct h a b c d
}

# 3 sites x 8 nodes behind three different NATs and a hub: 276 pairs; without the hub only each site
# is left (84 pairs), and with it again all
scene_three_sites() {
    fast=-f
    three_sites
    three_sites_nodes
    all_reach 60 "${crowd[@]}"
    expect_direct 84/276 "${crowd[@]}"
    bar three_sites_all_reach_s "$reach_s" 10
    killed h
    ask 20 'lost 20 100' "${crowd[@]}" || die "the hub is not missed: $(grep -v ' ok' <<< "$said")"
    reach 5 "${crowd[@]}"
    expect_pairs 84/276
    note "without the hub $pairs talk: each site by itself, for there is no other way"
    again h
    all_reach 60 "${crowd[@]}"
    note "$took_s s after the hub is back all talk again"
}

# the same and one node has a forwarded port: the hub's death costs no pair
scene_three_sites_forwarded() {
    fast=-f
    three_sites
    forward g1 out 7001 10.1.0.11:7000
    three_sites_nodes -a tcp://198.51.100.1:7001
    all_reach 60 "${crowd[@]}"
    # 16 nodes of the other sites come directly to the one that has a port outside.
    for one in "${crowd[@]:8}"; do linked 30 $one n11; done
    expect_direct 100/276 "${crowd[@]}"
    killed h
    all_reach 20 "${crowd[@]}"
    again h
    all_reach 60 "${crowd[@]}" h
    pairs=276/276
}

# Two subnets that know nothing of each other and two gateways between them, each a node with an address
# in both; a and b on one side, c and d on the other. What is given is an option of the second gateway.
two_gateways() {
    subnet x y
    for one in 1 2; do
        wire g$one x 10.1.0.$one/24
        wire g$one y 10.2.0.$one/24
    done
    host a x 10.1.0.5/24
    host b x 10.1.0.6/24
    host c y 10.2.0.5/24
    host d y 10.2.0.6/24
    peer g1 1
    node g2 2 -l tcp://0.0.0.0:7000 ${fast-} -j tcp://10.1.0.1:7000 "$@"
    peer a 3 10.1.0.1:7000 10.1.0.2:7000
    peer b 4 10.1.0.1:7000 10.1.0.2:7000
    peer c 5 10.2.0.1:7000 10.2.0.2:7000
    peer d 6 10.2.0.1:7000 10.2.0.2:7000
}

# One of the gateways dies by `killed` or by having both its cables pulled; how long a-c and b-d were silent.
gateway_dies() { # how, gateway
    mark a b c d
    if [ "$1" = killed ]; then
        killed "$2"
    else
        pull "$2" x
        pull "$2" y
    fi
    ask 20 "lost 20 ${name_of[$2]}" a b c d || die "$2 is not missed: $said"
    all_reach 20 a b c d
    longest_gap a b c d
    note "$2 $1: $recover_s s of silence at the most"
}

# two gateways, and each of them dies: by kill -9, and silently; detector of 2 s (promise 13)
scene_failover() {
    local worst=0 silent
    fast=-f
    two_gateways
    all_reach 20 a b c d g1 g2
    linked 20 a g1 g2
    linked 20 c g1 g2
    count_direct a b c d g1 g2
    talk 10 a b c d
    for one in g1 g2; do
        gateway_dies killed $one
        below "$recover_s" "$worst" || worst=$recover_s
        again $one
        linked 30 a $one
        linked 30 c $one
    done
    bar failover_killed_s "$worst" 0.5
    gateway_dies silenced g1
    silent=$recover_s
    plug g1 x
    plug g1 y
    linked 40 a g1
    linked 40 c g1
    gateway_dies silenced g2
    below "$recover_s" "$silent" || silent=$recover_s
    bar failover_silent_s "$silent" 2
    delivered 20 a b c d
    recover_s=$worst/$silent
}

# throughput through a relay, beside ssh -L and socat on the same path
scene_relay() {
    local bytes=${LAB_POUR:-100000000} round ssh=() socat=() phx=()
    subnet x y
    wire g x 10.1.0.1/24
    wire g y 10.2.0.1/24
    host a x 10.1.0.5/24
    host c y 10.2.0.5/24
    sshd g
    at c "$tool" sink 6000 &
    at g socat -b 65536 TCP-LISTEN:6001,fork,reuseaddr TCP:10.2.0.5:6000 > "$dir/socat.log" 2>&1 &
    until_open a 10.1.0.1 6001
    until_open a 10.1.0.1 22
    at a ssh -F "$dir/ssh_config" -N -L 127.0.0.1:6002:10.2.0.5:6000 root@10.1.0.1 > "$dir/tunnel.log" 2>&1 &
    until_open a 127.0.0.1 6002
    peer g 1
    peer a 2 10.1.0.1:7000
    peer c 3 10.2.0.1:7000
    all_reach 20 a c g
    expect_direct 2/3 a c g
    for round in 1 2 3 4 5 6 7; do
        ask 60 "pour 60 3 $bytes" a || die "pour: $said"
        phx+=("${said##* }")
        socat+=("$(at a "$tool" pour 10.1.0.1 6001 "$bytes")")
        ssh+=("$(at a "$tool" pour 127.0.0.1 6002 "$bytes")")
    done
    note "microseconds for $bytes bytes: phoenix ${phx[*]}; socat ${socat[*]}; ssh -L ${ssh[*]}"
    ratio_ssh=$(ratio "${ssh[*]}" "${phx[*]}")
    ratio_socat=$(ratio "${socat[*]}" "${phx[*]}")
    bar relay_to_ssh "$ratio_ssh" 1 0
    bar relay_to_socat "$ratio_socat" 0.5 0
}

# phx send of a file through a hub, behind two NATs, beside ssh -R and ssh -L to the hub and a plain copy
scene_send() {
    local bytes=${LAB_SEND:-${QUICK:+100000000}} round start ssh=() phx=()
    bytes=${bytes:-1000000000}
    two_sites
    nat gx restricted x out
    nat gy restricted y out
    sshd h
    chmod 600 "$dir/key"
    head -c "$bytes" /dev/urandom > "$dir/in" || die "no room for $bytes bytes"
    at h "$lab/phx" hub "tcp://$hub" --key "$dir/key" > "$dir/h.log" 2>&1 &
    until_open a 198.51.100.9 7000
    until_open a 198.51.100.9 22
    at c "$tool" sink 6000 "$dir/copied" &
    until_open c 127.0.0.1 6000
    at c ssh -F "$dir/ssh_config" -N -R 127.0.0.1:6000:127.0.0.1:6000 root@198.51.100.9 > "$dir/c.log" 2>&1 &
    until_open h 127.0.0.1 6000
    at a ssh -F "$dir/ssh_config" -N -L 127.0.0.1:6002:127.0.0.1:6000 root@198.51.100.9 > "$dir/a.log" 2>&1 &
    until_open a 127.0.0.1 6002
    for round in 1 2 3; do
        at c "$lab/phx" recv 9 --join "tcp://$hub" --key "$dir/key" > "$dir/sent" 2> "$dir/recv.log" &
        start=$("$tool" now)
        at a "$lab/phx" send 9 --join "tcp://$hub" --key "$dir/key" < "$dir/in" 2> "$dir/send.log" \
            || die "phx send: $(cat "$dir/send.log")"
        phx+=($(($("$tool" now) - start)))
        wait $! || die "phx recv: $(cat "$dir/recv.log")"
        cmp "$dir/in" "$dir/sent" || die 'phx: other bytes'
        ssh+=("$(at a "$tool" pour 127.0.0.1 6002 0 < "$dir/in")")
        cmp "$dir/in" "$dir/copied" || die 'ssh: other bytes'
    done
    note "microseconds for $bytes bytes: phx send ${phx[*]}; ssh ${ssh[*]}"
    ratio_ssh=$(ratio "${ssh[*]}" "${phx[*]}")
    bar send_to_ssh "$ratio_ssh" 1.5 0
}

# phx doctor behind a NAT: of a node behind another one, by its own address, by the NAT's, and through a hub
scene_doctor() {
    two_sites
    nat gx restricted x out
    nat gy restricted y out
    for one in gx gy; do try ip -n "$me$one" route add default via 198.51.100.9; done
    chmod 600 "$dir/key"
    at h "$lab/phx" hub "tcp://$hub" --key "$dir/key" > "$dir/h.log" 2>&1 &
    until_open a 198.51.100.9 7000
    at c "$lab/phx" node 7 --label far --listen tcp://0.0.0.0:7000 --join "tcp://$hub" --key "$dir/key" \
        > "$dir/c.log" 2>&1 &
    try at a "$lab/phx" ping 7 --count 1 --join "tcp://$hub" --key "$dir/key"
    diagnosed 1 'NAT on both sides: that is a private address' tcp://10.2.0.5:7000
    diagnosed 1 'a port must be forwarded' tcp://198.51.100.2:7000
    diagnosed 0 'far: is reached through relays: NAT on both sides' "tcp://$hub"
}

diagnosed() { # status, a part of what phx doctor says at a, the address that it is asked about
    local status=0
    said=$(at a "$lab/phx" doctor "$3" --key "$dir/key" 2>&1) || status=$?
    [ "$status" = "$1" ] && grep -qF -e "$2" <<< "$said" || die "phx doctor $3: status $status: $said"
    note "${said//$'\n'/ | }"
}

ratio() { # times of the other, times of ours: how many times as fast we are, by medians
    awk -v a="$1" -v b="$2" '
        function median(list,    n, v, i, j, t) {
            n = split(list, v, " ")
            for (i = 2; i <= n; i++)
                for (j = i; j > 1 && v[j - 1] + 0 > v[j] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
            return v[int((n + 1) / 2)]
        }
        BEGIN { printf "%.2f\n", median(a) / median(b) }'
}

# ---- Random walls -----------------------------------------------------------------------------------------

# What may happen in scene_random; each ends with the world as it was, but for who forgot what.
event_rebind() { rebind "g$((RANDOM % 3 + 1))"; }
event_gateway_off() {
    local one=g$((RANDOM % 3 + 1))
    pull $one out
    pause $((RANDOM % 4000))
    rebind $one
    plug $one out
}
event_gateway_address() {
    local n=$((RANDOM % 3 + 1))
    move g$n out 198.51.100.$n$((RANDOM % 10))/24
    rebind g$n
}
event_node_address() {
    local n=$((RANDOM % 3 + 1)) i=$((RANDOM % 2 + 1))
    move n$n$i n$n "10.$n.0.$((i * 100 + RANDOM % 50))/24" 10.$n.0.1
}
event_cable() {
    local n=$((RANDOM % 3 + 1)) i=$((RANDOM % 2 + 1))
    pull n$n$i n$n
    pause $((RANDOM % 4000))
    plug n$n$i n$n
}
event_hub_killed() { killed h; pause $((RANDOM % 2000)); again h; }
event_relay_killed() { killed r; pause $((RANDOM % 2000)); again r; }
event_sshd_killed() { sshd_killed r; sshd r; }

pause() { # milliseconds: chaos has no event to wait for
    sleep "$(awk -v ms="$1" 'BEGIN { print ms / 1000 }')" &
    wait $!
}

# random walls for a time: rebinding NATs, rebooting gateways, sshd and hubs killed, addresses that change;
# all six nodes of three sites talk to each other all the while and nothing may be lost, doubled or turned
scene_random() {
    local until
    local names=(rebind gateway_off gateway_address node_address cable hub_killed relay_killed sshd_killed)
    local n i count=0 event live=(n11 n12 n21 n22 n31 n32)
    fast='-f -b 30'
    LAB_SEED=${LAB_SEED:-$(($(date +%s) % 32768))}
    RANDOM=$LAB_SEED
    note "seed $LAB_SEED, ${LAB_SECONDS:=60} seconds"
    subnet out n1 n2 n3
    host h out 198.51.100.9/24
    host r out 198.51.100.8/24
    for n in 1 2 3; do
        gateway g$n out=198.51.100.$n/24 n$n=10.$n.0.1/24
        for i in 1 2; do host n$n$i n$n 10.$n.0.$((i * 100))/24 10.$n.0.1; done
    done
    nat g1 cone n1 out
    nat g2 restricted n2 out
    nat g3 symmetric n3 out
    sshd r
    until_open n31 198.51.100.8 22
    peer h 50
    peer r 51 "$hub"
    peer n11 1 "$hub" 198.51.100.8:7000
    peer n12 2 "$hub" 198.51.100.8:7000
    peer n21 3 "$hub" 198.51.100.8:7000
    peer n22 4 "$hub" 198.51.100.8:7000
    node n31 5 -l tcp://0.0.0.0:7000 $fast -S "$dir/ssh_config" -j "tcp://$hub" \
        -j ssh://root@198.51.100.8/127.0.0.1:7000
    peer n32 6 "$hub"
    all_reach 30 "${live[@]}"
    talk 20 "${live[@]}" h r
    until=$((SECONDS + LAB_SECONDS))
    while [ $SECONDS -lt $until ]; do
        event=${names[RANDOM % ${#names[@]}]}
        note "$((until - SECONDS)) s left: $event"
        event_$event
        count=$((count + 1))
        pause $((RANDOM % 3000))
    done
    all_reach 60 "${live[@]}" h r
    note "$count events; $took_s s after the last of them all talk"
    delivered 60 "${live[@]}" -- h r
    bar random_events "$count" 1 0
    count_direct "${live[@]}"
}

# not a wall: waits to be killed, for the test of the lab itself
scene_linger() {
    two_sites
    nat gx restricted x out
    two_sites_nodes
    all_reach 20 h a b
    note "lingering as $$"
    pause 60000
    die 'nobody came to kill it'
}
