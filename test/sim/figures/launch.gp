# ScELA's figures 3 to 6: until the tree stands; start and exchange over PMI and PMGR; simulated.
set multiplot layout 2,2 title "ScELA: start and exchange"
set grid
set logscale x 2
set key top left
set xlabel "hosts"
set ylabel "seconds until the tree stands"
plot data."/launch_tree.tsv" using 1:2 with linespoints title "phxrun"
set ylabel "seconds, 8 processes each, PMI"
plot data."/launch_pmi.tsv" using 2:(strcol(1) eq "phxrun" && $3 == 8 ? $4 + $5 : 1/0) with points title "phxrun", \
     data."/launch_pmi.tsv" using 2:(strcol(1) eq "hydra" && $3 == 8 ? $4 + $5 : 1/0) with points title "hydra"
set ylabel "seconds, 8 processes each, PMGR"
plot data."/launch_pmgr.tsv" using 2:(strcol(1) eq "phxrun" && $3 == 8 ? $4 + $5 : 1/0) with points title "phxrun"
set xlabel "processes"
set ylabel "seconds, simulated"
set logscale y
plot data."/launch_simulated.tsv" using 1:2 with linespoints title "tree", \
     data."/launch_simulated.tsv" using 1:3 with linespoints title "flat"
unset multiplot
