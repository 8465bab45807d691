# Figure 6: half of the nodes die at 30 s and return at 35 s.
set multiplot layout 2,1 title "Figure 6: half of 224 nodes die at 30 s and return at 35 s"
nodes = 224
set grid
set xlabel "seconds"
set key bottom right
set ylabel "reachable pairs, share"
set yrange [0:1.05]
plot data."/half_naive.tsv" using ($2 == nodes ? $3 : 1/0):5 with steps title "naive", \
     data."/half_paper.tsv" using ($2 == nodes ? $3 : 1/0):5 with steps title "paper", \
     data."/half_default.tsv" using ($2 == nodes ? $3 : 1/0):5 with steps title "default"
set ylabel "mean hops"
set yrange [0:*]
plot data."/half_naive.tsv" using ($2 == nodes ? $3 : 1/0):6 with steps title "naive", \
     data."/half_paper.tsv" using ($2 == nodes ? $3 : 1/0):6 with steps title "paper", \
     data."/half_default.tsv" using ($2 == nodes ? $3 : 1/0):6 with steps title "default"
unset multiplot
