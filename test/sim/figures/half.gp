# Figure 6: half of the nodes die at 30 s and return at 35 s.
set multiplot layout 2,1 title "Figure 6: half of the nodes die at 30 s and return at 35 s"
set grid
set xlabel "seconds"
set key bottom right
set ylabel "reachable pairs, share"
set yrange [0:1.05]
plot data."/half_naive.tsv" using 2:4 with lines title "naive", \
     data."/half_paper.tsv" using 2:4 with lines title "paper", \
     data."/half_default.tsv" using 2:4 with lines title "default"
set ylabel "mean hops"
set yrange [0:*]
plot data."/half_naive.tsv" using 2:5 with lines title "naive", \
     data."/half_paper.tsv" using 2:5 with lines title "paper", \
     data."/half_default.tsv" using 2:5 with lines title "default"
unset multiplot
