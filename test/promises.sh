#!/bin/sh
# promises.sh - writes test/PROMISES.md: each promise with the tests that cite it. --check: is it fresh?
#
# promises.tsv has the promises. A test cites one by the word promise and its number, or several by
# "promises 1, 3 and 5-7", in a comment or in the name of a test; a list may go on in the next line. --check
# prints TAP: it fails if the page is stale, if a test cites a number that no promise has, if no test cites a
# promise that is kept (those with the tags later and open are not), or if the list itself is not in order. It
# begins with whether it would notice: it feeds itself small trees that are wrong.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1
root=$PWD
scratch=build/promises.$$
mkdir -p "$scratch" || exit 1
trap 'rm -rf "$root/$scratch"' EXIT
trap 'exit 1' HUP INT TERM

tab=$(printf '\t')

# ---- Who cites what ------------------------------------------------------------------------------------

# Lines "number<TAB>file" of the tree that stands in the directory $1. Of a comment's next line its
# beginning is dropped, since a list of numbers may be broken there. The scripts that look for citations show
# none by their own examples.
cites() {
    (
        cd "$1" || exit 1
        files=$(find test -type f \( -name '*.[ch]' -o -name '*.sh' -o -name '*.awk' \) \
            ! -path test/promises.sh ! -path 'test/source.*' | sort)
        # No file name here contains a blank.
        [ -z "$files" ] || awk '
            BEGIN {
                span = "[0-9]+(-[0-9]+)?"
                word = "(^|[^A-Za-z_])[Pp]romises?"
                list = word " +" span "((, ?|,? and )" span ")*"
                unfinished = word "( +[0-9, -]+)?( and)?,? *$"
            }
            function cite(text,    end) {
                split(text, end, "-")
                if (end[2] == "" || end[2] - end[1] > 1000) end[2] = end[1]
                for (; end[1] + 0 <= end[2] + 0; end[1]++) print end[1] + 0 "\t" file
            }
            function read_all(text,    one, several, part, n, i) {
                while (match(text, list)) {
                    one = substr(text, RSTART, RLENGTH)
                    text = substr(text, RSTART + RLENGTH)
                    several = one ~ /romises/
                    sub(/^[^0-9]*/, "", one)
                    n = split(one, part, /[^0-9-]+/)
                    for (i = 1; i <= (several ? n : 1); i++) cite(part[i])
                }
            }
            FNR == 1 { read_all(held); held = ""; file = FILENAME }
            {
                line = $0
                if (held != "") sub(/^[ \t]*(\/\*|\*|\/\/|#)?[ \t]*/, "", line)
                line = held line
                held = ""
                if (match(line, unfinished)) {
                    held = substr(line, RSTART) " "
                    line = substr(line, 1, RSTART - 1)
                }
                read_all(line)
            }
            END { read_all(held) }' $files | sort -u -t "$tab" -k 1,1n -k 2,2
    )
}

# Lines "number<TAB>what": what shows that the tests of a promise bite. mutants/once.tsv has mutants, each
# asked again by `make test`; bites.tsv has the rest: seeds, models, scenarios that failed without the code.
bites() {
    (
        cd "$1/test" || exit 1
        [ ! -e mutants/once.tsv ] || awk -F '\t' '
            /^#/ || $6 == "-" { next }
            { split($3, word, " "); print $6 "\t" ($2 == "-" ? word[2] : $2) " in " $1 }' mutants/once.tsv
        [ ! -e bites.tsv ] || grep -v '^#' bites.tsv
    ) | sort -u -t "$tab" -k 1,1n -k 2,2
}

# ---- The page ------------------------------------------------------------------------------------------

page() { # of the tree that stands in the directory $1
    cites "$1" > "$scratch/cites"
    bites "$1" > "$scratch/bites"
    awk -F '\t' -v cites="$scratch/cites" -v bites="$scratch/bites" '
        function wrap(text, indent,    n, i, part, line) {
            n = split(text, part, " ")
            for (i = 1; i <= n; i++) {
                if (length(line) + length(part[i]) > 105) { print line; line = indent part[i]; continue }
                line = line (i > 1 ? " " : "") part[i]
            }
            print line
        }
        BEGIN {
            print "# What Phoenix promises, and which tests show it\n"
            wrap("`test/promises.sh` writes this page from [promises.tsv](promises.tsv) and from the " \
                "tests, which cite promises by number. `test/promises.sh --check`, a part of " \
                "`make test`, fails when the page is stale, and when no test cites a promise that is " \
                "kept. A promise with the tag [extras] belongs to extras/, one with the tag [later] is " \
                "not asked for yet, and one with the tag [open] is not kept yet, or no test names it. " \
                "All others are of the core. Behind *without* stands what was taken out or changed, and " \
                "then the tests failed: functions of src/ are those of " \
                "[mutants/once.tsv](mutants/once.tsv), which `make test` asks " \
                "again; the rest is from [bites.tsv](bites.tsv).")
        }
        FILENAME == cites {
            where[$1] = where[$1] (where[$1] == "" ? "" : ", ") $2
            next
        }
        FILENAME == bites { without[$1] = without[$1] (without[$1] == "" ? "" : ", ") $2; next }
        /^## / { print "\n" $0 "\n"; next }
        /^#/ { next }
        {
            kept += $2 != "later" && $2 != "open"
            text = $1 ". " ($2 == "core" ? "" : "[" $2 "] ") $3
            all++
            if ($1 in where) { shown++; text = text " *" where[$1] "*" }
            else if ($2 == "core" || $2 == "extras") text = text " *No test cites it.*"
            if ($1 in without) { bitten++; text = text " *Without: " without[$1] "*" }
            wrap(text, substr("     ", 1, length($1) + 2))
        }
        END {
            printf "\nOf %d promises %d are kept. Tests cite %d, and of %d it is written down what was " \
                "taken out and made them fail.\n", all, kept, shown, bitten
        }
    ' "$scratch/cites" "$scratch/bites" "$1/test/promises.tsv"
}

# ---- What is wrong -------------------------------------------------------------------------------------

unknown() { # citations of numbers that the list lacks
    cites "$1" > "$scratch/cites"
    awk -F '\t' -v cites="$scratch/cites" '
        FILENAME == cites { where[$1] = where[$1] " " $2; next }
        !/^#/ { known[$1] = 1 }
        END { for (n in where) if (!(n in known)) print "promise " n ":" where[n] }
    ' "$scratch/cites" "$1/test/promises.tsv" | sort
}

disorder() { # lines of the list that are no promise, or not the next one
    awk -F '\t' '
        /^#/ { next }
        NF != 3 || $1 != ++n || $2 !~ /^(core|extras|later|open)$/ || $3 !~ /\.$/ {
            print "promises.tsv:" NR ": " $0
        }
        END { if (n == 0) print "promises.tsv: no promise in it" }' "$1/test/promises.tsv"
}

stale() { # the first lines that differ
    page "$1" > "$scratch/page"
    diff "$1/test/PROMISES.md" "$scratch/page" 2>&1 | head -10
}

uncited() {
    cites "$1" > "$scratch/cites"
    awk -F '\t' -v cites="$scratch/cites" '
        FILENAME == cites { seen[$1] = 1; next }
        !/^#/ && ($2 == "core" || $2 == "extras") && !($1 in seen) {
            print $1 ". " $3
        }' "$scratch/cites" "$1/test/promises.tsv"
}

# ---- Would it notice? ----------------------------------------------------------------------------------

fresh() { # a tree with three promises, standard input as the test t_a.c in it, and its page
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/test/unit"
    printf '%s\n' '## A. Some' "1${tab}core${tab}One." "2${tab}later${tab}Two." "3${tab}core${tab}Three." \
        > "$scratch/tree/test/promises.tsv"
    cat > "$scratch/tree/test/unit/t_a.c"
    page "$scratch/tree" > "$scratch/tree/test/PROMISES.md"
}

says() { # what, wanted, command: its output in one line
    what=$1
    wanted=$2
    shift 2
    said=$("$@" "$scratch/tree" | tr '\n\t' ' :' | sed 's/ $//')
    if [ "$said" = "$wanted" ]; then echo "ok - self-check: $what"
    else
        echo "not ok - self-check: $what"
        echo "# wanted \"$wanted\", got \"$said\""
    fi
}

notices() { # what, command: it must say something
    said=$("$2" "$scratch/tree")
    if [ -n "$said" ]; then echo "ok - self-check: $1"; else echo "not ok - self-check: $1"; fi
}

self_check() {
    a=test/unit/t_a.c
    printf '/* Promise 1 and promises 2 and 3. */\n' | fresh
    says 'a word and its numbers are found' "1:$a 2:$a 3:$a" cites
    says 'known numbers are known' '' unknown
    says 'a page just written is fresh' '' stale
    says 'all are cited' '' uncited
    printf '/* promises 1-3: x */\n' | fresh
    says 'a span is found' "1:$a 2:$a 3:$a" cites
    printf ' * Goal: PITFALLS 7; promises 1,\n * 3, 2: no loop\n' | fresh
    says 'a list is found that is broken' "1:$a 2:$a 3:$a" cites
    printf '    promise\n# 3 of them\n' | fresh
    says 'a number is found in the next line' "3:$a" cites
    printf '# promise 2' | fresh
    says 'and in the last line' "2:$a" cites
    printf 'post.promised = 7; /* compromise 8, as promised 9 times, promise 1, 25 of them */\n' | fresh
    says 'other words and numbers are let pass' "1:$a" cites
    says 'what no test cites is named, but for tags' '3. Three.' uncited
    printf 'ok(x, "promise 4");\n' | fresh
    says 'an unknown number is seen' "promise 4: $a" unknown
    printf '/* promises 1, 2 and 70 */\n' | fresh
    says 'so is one at the end of a list' "promise 70: $a" unknown
    mkdir -p "$scratch/tree/test/mutants"
    printf '# x\nsrc/a.c\tf\told\tnew\tt_a\t3\nsrc/a.c\t-\t#define A 1\t#define A 2\tt_a\t3\n' \
        > "$scratch/tree/test/mutants/once.tsv"
    says 'mutants are named' '3:A in src/a.c 3:f in src/a.c' bites
    notices 'a page is stale after a new mutant' stale
    printf '/* promise 1 */\n' | fresh
    printf '/* promise 3 */\n' > "$scratch/tree/test/unit/t_b.c"
    notices 'a page is stale after a new citation' stale
    rm "$scratch/tree/test/PROMISES.md"
    notices 'so is one that is missing' stale
    fresh < /dev/null
    sed -i.old 's/One/Eins/' "$scratch/tree/test/promises.tsv"
    notices 'and one whose list has changed' stale
    printf '5%score%sFive.\n' "$tab" "$tab" >> "$scratch/tree/test/promises.tsv"
    notices 'a gap in the list is seen' disorder
}

report() { # what, command: good if it finds nothing
    found=$("$2" .)
    if [ -z "$found" ]; then echo "ok - $1"
    else
        echo "not ok - $1"
        echo "$found" | sed 's/^/# /'
    fi
}

check() {
    self_check
    report 'promises.tsv is in order' disorder
    report 'all numbers that tests cite are promises' unknown
    report 'a test cites each promise that is kept' uncited
    report 'test/PROMISES.md is fresh (else run test/promises.sh)' stale
}

case ${1-} in
'')
    page . > "$scratch/page" && cp "$scratch/page" test/PROMISES.md ;;
--check)
    check | awk '
        /^ok - / { print "ok " ++n substr($0, 3); next }
        /^not ok - / { print "not ok " ++n substr($0, 7); bad = 1; next }
        { print }
        END { print "1.." n; exit bad }' ;;
*)
    echo 'usage: test/promises.sh [--check]' >&2
    exit 2 ;;
esac
