# table.awk - the curves as tables of README.md, in Markdown.

function base(path) { sub(/.*\//, "", path); sub(/\.tsv$/, "", path); return path }
function big(x) { return x >= 1048576 ? sprintf("%.3g MiB", x / 1048576) : x >= 1024 \
    ? sprintf("%.3g KiB", x / 1024) : sprintf("%.3g B", x) }
function human(n) { return n >= 1048576 ? n / 1048576 " MiB" : n >= 1024 ? n / 1024 " KiB" : n " B" }
function count(n,    s) { for (s = n ""; match(s, /[0-9][0-9][0-9][0-9]($|,)/);)
    s = substr(s, 1, RSTART) "," substr(s, RSTART + 1); return s }
function short(x) { return x >= 100 ? count(sprintf("%.0f", x)) : sprintf("%.3g", x) }
FNR == 1 {
    file = base(FILENAME)
    sub(/^# /, "")
    for (i = 1; i <= NF; i++) name[i] = $i
    next
}
{
    if (file != "hops") key = $1
    else key = $1 SUBSEP $2
    if (!((file, key) in seen)) { seen[file, key] = 1; keys[file, ++rows[file]] = key }
    for (i = 1; i <= NF; i++) at[file, key, name[i]] = $i
}
function get(file, key, column) { return at[file, key, column] }
END {
    print "| idle links | of a full mesh: memory | per link | wake-ups/s | bytes/s" \
        " | a hub of nodes behind NATs: memory | per link | wake-ups/s | bytes/s | processor |"
    print "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for (r = 1; r <= rows["hub"]; r++) {
        k = keys["hub", r]
        line = "| " count(k) " | "
        if (("mesh", k) in seen)
            line = line big(get("mesh", k, "bytes")) " | " big(get("mesh", k, "bytes/link")) " | " \
                sprintf("%.2g", get("mesh", k, "wakeups/s")) " | " sprintf("%.0f", get("mesh", k, "bytes/s"))
        else
            line = line " | | | "
        line = line " | " big(get("hub", k, "bytes")) " | " big(get("hub", k, "bytes/link")) " | " \
            sprintf("%.2g", get("hub", k, "wakeups/s")) " | " count(sprintf("%.0f", get("hub", k, "bytes/s")))
        print line " | " (("rest", k) in seen ? sprintf("%.2g ms/s", get("rest", k, "cpu_ms/s")) : "") " |"
    }
    print "\n| nodes known | memory | each | without address and names, each |\n| --- | --- | --- | --- |"
    for (r = 1; r <= rows["nodes"]; r++) {
        k = keys["nodes", r]
        printf "| %s | %s | %s B | %s B |\n", count(k), big(get("nodes", k, "bytes")), \
            short(get("nodes", k, "bytes/node")), short(get("nodes", k, "bare/node"))
    }
    print "\n| ranges of names | held by | memory at who knows them | each | all of them on the wire" \
        " | one is released: on the wire |\n| --- | --- | --- | --- | --- | --- |"
    for (r = 1; r <= rows["names"]; r++) {
        k = keys["names", r]
        printf "| %s | %d | %s | %.0f B | %s | %s |\n", count(k), get("names", k, "holders"), \
            big(get("names", k, "knower_bytes")), get("names", k, "bytes/range"), \
            big(get("names", k, "wire_bytes")), big(get("names", k, "change_wire"))
    }
    print "\n| message | latency, us (raw) | streamed, us each (raw)" \
        " | instructions each, both sides (raw) |\n| --- | --- | --- | --- |"
    for (r = 1; r <= rows["sizes"]; r++) {
        k = keys["sizes", r]
        printf "| %s | %s (%s) | %s (%s) | %s (%s) |\n", human(k), \
            short(get("sizes", k, "latency_us")), short(get("sizes", k, "raw_latency_us")), \
            short(get("sizes", k, "us/message")), short(get("sizes", k, "raw_us/message")), \
            count(get("sizes", k, "instructions/message")), count(get("sizes", k, "raw_instructions/message"))
    }
    print "\n| hops | 8 B: latency, us | a relay's processor, us each | streamed, thousands/s" \
        " | 64 KiB: latency, us | GB/s | a relay's processor, us each |" \
        "\n| --- | --- | --- | --- | --- | --- | --- |"
    for (r = 1; r <= rows["hops"]; r++) {
        split(keys["hops", r], p, SUBSEP)
        if (p[2] != 8) continue
        a = p[1] SUBSEP 8
        b = p[1] SUBSEP 65536
        printf "| %d | %s | %s | %s | %s | %.2g | %s |\n", p[1], short(get("hops", a, "us")), \
            p[1] == 1 ? "" : short(get("hops", a, "relay_us/message")), \
            count(sprintf("%.0f", get("hops", a, "kmsgs/s"))), short(get("hops", b, "us")), \
            get("hops", b, "GB/s"), \
            p[1] == 1 ? "" : short(get("hops", b, "relay_us/message"))
    }
}
