# Figure 3 of Fagg and Dongarra: bandwidth over the size of a message, two ranks of one host over TCP.
set title "A message of 8 under way at once, over TCP"
set grid
set logscale xy
set logscale x 2
set key top left
set xlabel "bytes"
set ylabel "MB/s"
set format x "%.0b%B"
plot for [s in "abort nop cont mpich openmpi raw"] data."/mpi.tsv" \
    using (strcol(1) eq s ? $2 : 1/0):4 with linespoints \
    title (strstrt("abort nop cont", s) ? "ours, ".s : s eq "raw" ? "bare TCP" : s)
