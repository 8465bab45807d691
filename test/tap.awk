# tap.awk - passes on what a test program printed and adds a failure if the program cannot be trusted.
#
#     program > said; awk -f test/tap.awk -v name=NAME -v status=$? said
#
# A program that ends badly without saying what failed, that prints another number of tests than its plan
# ("1..N", first or last), or that prints no plan at all has failed: it may have died on the way. A line
# "bar NAME FIGURE LIMIT ok|short", tab-separated, is a test too. The plan itself is not passed on.
BEGIN { FS = "\t"; plan = -1 }
/^1\.\.0/ { plan = 0; sub(/^1\.\.0 */, ""); print "ok - " name " " $0; next }
/^1\.\.[0-9]+/ { plan = substr($0, 4) + 0; next }
$1 == "bar" {
    ran++
    bad += $5 != "ok"
    print ($5 == "ok" ? "" : "not ") "ok - sim " $2 ": " $3 " <= " $4
    next
}
$1 == "figure" { print "# " $0; next }
/^not ok/ { bad++ }
/^(not )?ok/ { ran++ }
{ print }
END {
    if (plan < 0)
        why = "printed no plan"
    else if (plan > 0 && plan != ran)
        why = "planned " plan " tests and ran " ran + 0
    if (status != 0 && (why != "" || !bad))
        why = (why == "" ? "" : why " and ") \
            (status == 124 || status == 137 ? "timed out or was killed" : "ended with status " status)
    if (why != "")
        print "not ok - " name ": " why
}
