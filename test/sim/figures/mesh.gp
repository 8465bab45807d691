# Figure 7: until a full mesh stands, by addresses given offline or by discovery.
set title "Figure 7: with the addresses given, and with one hub given and the rest discovered"
set grid
set logscale xy
set key top left
set xlabel "nodes"
set ylabel "seconds, one processor each"
plot data."/mesh.tsv" using (strcol(1) eq "offline" ? $2 : 1/0):7 with linespoints title "offline: all reachable", \
     data."/mesh.tsv" using (strcol(1) eq "offline" ? $2 : 1/0):8 with linespoints title "offline: all linked", \
     data."/mesh.tsv" using (strcol(1) eq "discovery" ? $2 : 1/0):7 with linespoints title "discovery: all reachable", \
     data."/mesh.tsv" using (strcol(1) eq "discovery" ? $2 : 1/0):8 with linespoints title "discovery: all linked"
