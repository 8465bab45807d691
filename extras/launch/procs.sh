# procs.sh - what runs, from /proc: for scripts, since ps and pgrep are packages of their own.

# A line for each process that is no zombie: number, parent, name. Those that end meanwhile are left out.
procs() {
    cat /proc/[0-9]*/stat 2> /dev/null | awk '{
        name = $0
        sub(/^[0-9]+ \(/, "", name)
        rest = name
        sub(/\) [A-Za-z] .*/, "", name)
        sub(/.*\) /, "", rest)
        split(rest, of, " ")
        gsub(/ /, "_", name)
        if (of[1] !~ /[ZX]/)
            print $1, of[2], name
    }' | sort -n
}

# Arguments of a process, with a blank behind each.
arguments() {
    { tr '\0' ' ' < "/proc/$1/cmdline"; } 2> /dev/null
}

# Children of a process: those of a name, or all.
children() {
    procs | awk -v parent="$1" -v name="${2-}" '$2 == parent && (name == "" || $3 == name) { print $1 }'
}

# Processes whose arguments are these.
called() {
    procs | awk -v name="${1%% *}" '$3 == name { print $1 }' | while read -r procs_pid; do
        [ "$(arguments "$procs_pid")" != "$1 " ] || echo "$procs_pid"
    done
}
