# Figure 7: after a cold start, without discovery of others than the hub.
set multiplot layout 2,1 title "Figure 7: after a cold start, without discovery of others than the hub"
set grid
set xlabel "seconds"
set key bottom right
set ylabel "reachable pairs, share"
set yrange [0:1.05]
plot data."/alone_naive.tsv" using 2:4 with lines title "naive", \
     data."/alone_paper.tsv" using 2:4 with lines title "paper", \
     data."/alone_default.tsv" using 2:4 with lines title "default"
set ylabel "mean hops"
set yrange [0:*]
plot data."/alone_naive.tsv" using 2:5 with lines title "naive", \
     data."/alone_paper.tsv" using 2:5 with lines title "paper", \
     data."/alone_default.tsv" using 2:5 with lines title "default"
unset multiplot
