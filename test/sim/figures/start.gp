# Figure 5: after a cold start, three cliques.
set multiplot layout 2,1 title "Figure 5: after a cold start, three cliques"
set grid
set xlabel "seconds"
set key bottom right
set ylabel "reachable pairs, share"
set yrange [0:1.05]
plot data."/start_naive.tsv" using 2:4 with lines title "naive", \
     data."/start_paper.tsv" using 2:4 with lines title "paper", \
     data."/start_default.tsv" using 2:4 with lines title "default"
set ylabel "mean hops"
set yrange [0:*]
plot data."/start_naive.tsv" using 2:5 with lines title "naive", \
     data."/start_paper.tsv" using 2:5 with lines title "paper", \
     data."/start_default.tsv" using 2:5 with lines title "default"
unset multiplot
