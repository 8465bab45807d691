# Figure 5: after a cold start of one cluster.
set multiplot layout 2,1 title "Figure 5: after a cold start, one cluster of 128"
nodes = 128
set grid
set xlabel "seconds"
set key bottom right
set ylabel "reachable pairs, share"
set yrange [0:1.05]
plot data."/start_naive.tsv" using ($2 == nodes ? $3 : 1/0):5 with steps title "naive", \
     data."/start_paper.tsv" using ($2 == nodes ? $3 : 1/0):5 with steps title "paper", \
     data."/start_default.tsv" using ($2 == nodes ? $3 : 1/0):5 with steps title "default"
set ylabel "mean hops"
set yrange [0:*]
plot data."/start_naive.tsv" using ($2 == nodes ? $3 : 1/0):6 with steps title "naive", \
     data."/start_paper.tsv" using ($2 == nodes ? $3 : 1/0):6 with steps title "paper", \
     data."/start_default.tsv" using ($2 == nodes ? $3 : 1/0):6 with steps title "default"
unset multiplot
