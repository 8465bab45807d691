# Figure 2 of Horita, Taura and Chikayama: what is said during a computation of 64 processes.
set multiplot layout 2,1 title "k = 2, T_{interval} 5 s, T_{insurance} 100 s, 64 processes"
set grid
set xlabel "seconds"
set ylabel "routing messages of all in 5 s"
plot data."/said.tsv" using ($1 == 64 ? $2 : 1/0):3 with impulses title "routing"
set ylabel "per process in 5 s"
plot data."/said.tsv" using ($1 == 64 ? $2 : 1/0):4 with lines title "heartbeats", \
     data."/said.tsv" using ($1 == 64 ? $2 : 1/0):5 with lines title "heartbeats spared by messages", \
     data."/said.tsv" using ($1 == 64 ? $2 : 1/0):6 with lines title "messages"
unset multiplot
