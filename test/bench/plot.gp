# plot.gp - pictures of build/bench/table.tsv: latency and stream over the size of a message, start of a mesh.
set terminal pngcairo size 1000,640
set datafile separator "\t"
set logscale xy
set key outside right
set grid
pick(job, system) = sprintf("< awk -F'\\t' -v j='%s' -v s='%s' 'index($1, j) == 1 && $2 == s { n = $1; sub(/.*-/, \"\", n); print n \"\\t\" $4 \"\\t\" $5 \"\\t\" $6 }' %s/table.tsv | sort -n", job, system, dir)
set xlabel "bytes"
set ylabel "microseconds, one way"
set output dir."/latency.png"
plot for [s in "raw-tcp raw-unix phx-tcp phx-unix phx-key phx-tls zmq-tcp zmq-ipc nng-tcp enet"] \
    pick("latency-sleep-", s) using 1:2:3:4 with yerrorlines title s
set ylabel "thousand messages a second"
set output dir."/stream.png"
plot for [s in "raw-tcp raw-unix raw-each phx-tcp phx-unix phx-key phx-tls zmq-tcp nng-tcp enet mpich-shm mpich-tcp openmpi-tcp ucx-tcp"] \
    pick("stream-", s) using 1:2:3:4 with yerrorlines title s
set xlabel "processes"
set ylabel "milliseconds"
set output dir."/mesh.png"
plot for [s in "phx offline master offline-10 master-10"] \
    pick("mesh-", s) using 1:2:3:4 with yerrorlines title s
