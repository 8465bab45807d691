# What a node pays: memory, wake-ups, bytes and processor time, over links, nodes, names, sizes and hops.
set multiplot layout 4,2 title "What a node pays (links, nodes, names: exact; sizes, hops: real processes)"
set grid
set logscale xy
set format y "10^{%T}"
set format x "10^{%T}"
set key outside right samplen 2
set xlabel "links"
set ylabel "bytes of memory"
plot data."/mesh.tsv" using 1:2 with linespoints title "full mesh", \
     data."/hub.tsv" using 1:2 with linespoints title "hub", \
     data."/rest.tsv" using 1:2 with points title "hub, resident"
set ylabel "a second, idle"
plot data."/mesh.tsv" using 1:5 with linespoints title "wake-ups, mesh", \
     data."/mesh.tsv" using 1:7 with linespoints title "bytes, mesh", \
     data."/hub.tsv" using 1:4 with linespoints title "wake-ups, hub", \
     data."/hub.tsv" using 1:6 with linespoints title "bytes, hub"
set xlabel "nodes known"
set ylabel "bytes of memory"
plot data."/nodes.tsv" using 1:2 with linespoints title "full", \
     data."/nodes.tsv" using 1:4 with linespoints title "bare"
set xlabel "ranges of names"
set ylabel "bytes"
plot data."/names.tsv" using 1:4 with linespoints title "memory", \
     data."/names.tsv" using 1:6 with linespoints title "on the wire", \
     data."/names.tsv" using 1:7 with linespoints title "one released"
set xlabel "bytes of a message"
set ylabel "microseconds"
plot data."/sizes.tsv" using 1:2 with linespoints title "latency", \
     data."/sizes.tsv" using 1:3 with lines title "raw", \
     data."/sizes.tsv" using 1:4 with linespoints title "streamed, each", \
     data."/sizes.tsv" using 1:5 with lines title "raw"
set ylabel "instructions, both sides"
plot data."/sizes.tsv" using 1:7 with linespoints title "Phoenix", \
     data."/sizes.tsv" using 1:8 with lines title "raw"
unset logscale x
set format x "%g"
set xlabel "hops"
set xtics 1
hop(size, column) = sprintf("< awk '$2 == %d { print $1, $%d }' %s/hops.tsv", size, column, data)
set ylabel "latency, microseconds"
plot for [size in "8 65536 1048576"] hop(size + 0, 3) with linespoints title size." B"
set ylabel "GB/s"
plot for [size in "8 65536 1048576"] hop(size + 0, 6) with linespoints title size." B"
unset multiplot
