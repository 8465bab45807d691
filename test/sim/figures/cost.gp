# Figures 3 and 4: what a cold start costs, in routing entries, messages, bytes and time.
set multiplot layout 2,2 title "Cold start of one clique (lines) and of three (points)"
set logscale xy
set key top left
set grid
set xlabel "nodes"
do for [i=1:4] {
    column_at = i + 3
    set ylabel word("messages entries bytes seconds", i)
    plot data."/cost_one_naive.tsv" using 3:column_at with lines lc 1 title "naive", \
         data."/cost_one_paper.tsv" using 3:column_at with lines lc 2 title "paper", \
         data."/cost_one_default.tsv" using 3:column_at with lines lc 3 title "default", \
         data."/cost_three_naive.tsv" using 3:column_at with points lc 1 notitle, \
         data."/cost_three_paper.tsv" using 3:column_at with points lc 2 notitle, \
         data."/cost_three_default.tsv" using 3:column_at with points lc 3 notitle
}
unset multiplot
