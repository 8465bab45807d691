# report.awk - results.tsv to a table for people, table.tsv for scripts, and the bars.
#
# usage: awk -F'\t' -v all=1 -f report.awk bars.tsv results.tsv; all: bars without a figure are named too. The
# line of a bar that is short is followed by one with the range of its ratio over the rounds; with bars_only=1
# that of each bar, and there is no table. What runs more than once in a round counts with its mean. The first
# figure of each line is the one shown: median, min and max over rounds, and the median of its ratio to the
# first system named raw, or offline, in the same round.

function sort(list, n,    i, j, t) {
    for (i = 2; i <= n; i++) {
        t = list[i]
        for (j = i - 1; j > 0 && list[j] > t; j--)
            list[j + 1] = list[j]
        list[j + 1] = t
    }
}
function median(list, n) {
    sort(list, n)
    return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
function number(x) { return sprintf(x >= 1000 ? "%.0f" : x >= 100 ? "%.1f" : "%.3g", x) }

# The median over rounds of figure a of system sa over figure b of sb, or of their difference; sb may be
# "JOB:SYSTEM". "" without such a round. Leaves the least and the greatest of them in ratio_min and ratio_max.
function ratio(job, a, sa, b, sb, differ,    r, n, list, x, other, part) {
    n = 0
    other = job
    if (split(sb, part, ":") == 2) {
        other = part[1]
        sb = part[2]
    }
    for (r = 1; r <= rounds; r++) {
        if (!((r, job, sa, a) in value))
            continue
        if (sb == "-")
            list[++n] = value[r, job, sa, a]
        else if ((r, other, sb, b) in value && value[r, other, sb, b] > 0)
            list[++n] = differ ? value[r, job, sa, a] - value[r, other, sb, b] \
                               : value[r, job, sa, a] / value[r, other, sb, b]
    }
    if (n == 0)
        return ""
    x = median(list, n)
    ratio_min = list[1]
    ratio_max = list[n]
    return x
}
function middle_of(job, figure, s,    r, n, list) {
    for (r = 1; r <= rounds; r++)
        if ((r, job, s, figure) in value)
            list[++n] = value[r, job, s, figure]
    return n ? number(median(list, n)) : "-"
}

# A system called ...-tcp or ...-shm that counted what went over TCP (see s_mpi.c): was it what its name
# says? If not its figures are of something else, and are thrown away.
function check_transport(label,    k, part, least, most, n, wrong) {
    for (k in value) {
        split(k, part, SUBSEP)
        if (part[3] != label || part[4] != "tcp")
            continue
        least = n == 0 || value[k] < least ? value[k] : least
        most = value[k] > most ? value[k] : most
        n++
    }
    if (n == 0)
        return
    wrong = label ~ /-tcp$/ ? least < 0.9 : most > 0.5
    printf "# %s: %.3g to %.3g bytes over TCP for each byte of messages%s\n", label, least, most, \
           wrong ? ": NOT what its name says, figures left out" : ""
    for (k in value) {
        split(k, part, SUBSEP)
        if (wrong && part[3] == label)
            delete value[k]
    }
}

# "bar", name, ratio, limit, verdict; and what a reader asks next if it is short.
function judge(p,    x, good, part) {
    x = ratio(p[2], p[3], p[4], p[5], p[6], p[7] == "over")
    if (x == "") {
        if (all)
            printf "# no figure for bar %s: %s of %s and %s\n", p[1], p[2], p[4], p[6]
        return
    }
    if (p[7] == "worst")
        x = ratio_max
    good = p[7] == "min" ? x >= p[8] : x <= p[8]
    printf "bar\t%s\t%.3f\t%s\t%s\n", p[1], x, p[8], good ? "ok" : "short"
    if (good && !bars_only)
        return
    printf "#   %s %.3f to %.3f over the rounds; %s %s %s", p[1], ratio_min, ratio_max, p[4], \
           middle_of(p[2], p[3], p[4]), p[3]
    if (split(p[6], part, ":") == 2)
        printf ", %s %s %s\n", p[6], middle_of(part[1], p[5], part[2]), p[5]
    else
        printf p[6] == "-" ? "\n" : ", %s %s %s\n", p[6], middle_of(p[2], p[5], p[6]), p[5]
}

FNR == NR {
    if ($0 !~ /^#/ && NF == 8)
        bar[++bars] = $0
    next
}

{
    rounds = $1 > rounds ? $1 : rounds
    if (!(($2, $3) in seen)) {
        seen[$2, $3] = labels[$3] = 1
        if (!($2 in systems))
            order[++jobs] = $2
        systems[$2] = systems[$2] $3 " "
    }
    for (i = 4; i <= NF; i++) {
        if (split($i, part, "=") != 2)
            continue
        count = ++said[$1, $2, $3, part[1]]
        value[$1, $2, $3, part[1]] += (part[2] - value[$1, $2, $3, part[1]]) / count
        if (i == 4)
            first[$2, $3] = part[1]
    }
}

# Names with a number at their end in the order of the numbers.
function key(name,    n) {
    n = name
    sub(/.*-/, "", n)
    sub(/-[0-9]*$/, "", name)
    return sprintf("%s %012d", name, n)
}

END {
    if (!bars_only)
        table()
    print ""
    for (i = 1; i <= bars; i++) {
        split(bar[i], p, "\t")
        judge(p)
    }
}

function table(    s, j) {
    sort_jobs()
    for (s in labels)
        check_transport(s)
    print "job\tsystem\tfigure\tmedian\tmin\tmax\tratio\trounds" > "build/bench/table.tsv"
    for (j = 1; j <= jobs; j++)
        show(order[j])
}

function sort_jobs(    i, k, t) {
    for (i = 2; i <= jobs; i++) {
        t = order[i]
        for (k = i - 1; k > 0 && key(order[k]) > key(t); k--)
            order[k + 1] = order[k]
        order[k + 1] = t
    }
}

function reference(list, n,    i) {
    for (i = 1; i <= n; i++)
        if (list[i] == "raw" || list[i] == "raw-tcp" || list[i] == "offline")
            return list[i]
    return list[1]
}

function show(job,    n, list, i, ref, r, c, v, s, x, figure, lowest, highest, middle) {
    n = split(systems[job], list, " ")
    sort(list, n)
    ref = reference(list, n)
    printf "\n%-24s %10s %10s %10s   x %s\n", job, first[job, ref], "min", "max", ref
    for (i = 1; i <= n; i++) {
        s = list[i]
        figure = first[job, s]
        c = 0
        for (r = 1; r <= rounds; r++)
            if ((r, job, s, figure) in value)
                v[++c] = value[r, job, s, figure]
        if (c == 0) {
            printf "  %-22s nothing\n", s
            continue
        }
        middle = median(v, c)
        lowest = v[1]
        highest = v[c]
        x = ratio(job, figure, s, first[job, ref], ref)
        printf "  %-22s %10s %10s %10s %9s\n", s, number(middle), number(lowest), number(highest), \
               x == "" ? "" : sprintf("%.2f", x)
        printf "%s\t%s\t%s\t%g\t%g\t%g\t%s\t%d\n", job, s, figure, middle, lowest, highest, x, c \
               > "build/bench/table.tsv"
    }
}
