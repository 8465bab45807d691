# Figure 4: until a full mesh stands, or, in three sites, until every pair is reachable.
set title "Figure 4, real processes: until all is connected"
set grid
set logscale xy
set key top left
set xlabel "processes"
set ylabel "milliseconds, all on one machine"
row(how, column) = strcol(1) eq how ? column : 1/0
plot data."/mesh.tsv" using (row("offline", $2)):4 with linespoints title "offline: full mesh, raw TCP", \
     data."/mesh.tsv" using (row("master", $2)):4 with linespoints title "master: full mesh, raw TCP", \
     data."/mesh.tsv" using (row("hub", $2)):4 with linespoints title "Phoenix, one hub known: full mesh", \
     data."/mesh.tsv" using (row("hub", $2)):3 with linespoints title "Phoenix, one hub known: every pair reachable", \
     data."/mesh.tsv" using (row("sites", $2)):3 with linespoints title "Phoenix, three sites: every pair reachable"
