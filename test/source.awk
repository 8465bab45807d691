# source.awk - reads the sources and prints one line "rule<TAB>file:line: what" for each broken convention.
#
# A crude reader of C, good enough for sources that keep to the conventions it checks: functions open and
# close with a brace in column 0, includes and file-scope declarations begin in column 0. Comments and
# literals are cut out before anything but the shape of lines is looked at. See source.sh for the rules.

BEGIN {
    line_max = 110
    function_max = 70
    file_max = 1000

    # Arrows. A file route_x.c belongs to the room route and may include that room's own headers.
    words("base mem map rnd timer sha buf id wire place", "tool", class)
    words("route names live disc post", "brain", class)
    words("os tls link", "hand", class)
    words("phx", "top", class)
    words("table", "route", part_of) # a room in two files of different names
    words("back flow cast hold pump fate", "post", part_of)
    words("contact attempt best pace budget crowd target", "disc", part_of)
    words("broken", "names", part_of)
    arrows("tool", "base mem map rnd timer sha buf id wire place")
    arrows("brain", "base mem map rnd timer buf id wire place")
    arrows("hand", "base mem map rnd timer sha buf id wire place os tls")

    words("strcpy strcat strdup sprintf vsprintf sscanf strtok gets atoi atol atof alloca", 1, banned)
    words("rand srand random time gettimeofday sleep usleep nanosleep", 1, banned)
    words("printf fprintf vprintf vfprintf puts fputs putchar fwrite perror", 1, banned)
    words("exit _exit abort signal sigaction raise", 1, banned)
    words("malloc calloc realloc free", 1, allocator)

    # Split so that this file does not find itself.
    unfinished = "(^|[^A-Za-z0-9_])(TO" "DO|FIX" "ME|XX" "X|HA" "CK)([^A-Za-z0-9_]|$)"
}

function words(list, value, into,    n, i, part) {
    n = split(list, part, " ")
    for (i = 1; i <= n; i++)
        into[part[i]] = value
}

function arrows(from, list,    n, i, part) {
    n = split(list, part, " ")
    for (i = 1; i <= n; i++)
        may[from, part[i]] = 1
}

function found(rule, what) {
    printf "%s\t%s:%d: %s\n", rule, FILENAME, FNR, what
}

function base_name(path) {
    sub(/.*\//, "", path)
    return path
}

function room_of(path) {
    path = base_name(path)
    sub(/\.[ch]$/, "", path)
    sub(/_.*/, "", path)
    return (path in part_of) ? part_of[path] : path
}

# The line without comments, and with nothing between quotes. in_comment carries over to the next line.
function code_of(s,    out, i, c, closed) {
    out = ""
    while (s != "") {
        if (in_comment) {
            i = index(s, "*/")
            if (i == 0)
                return out
            s = substr(s, i + 2)
            in_comment = 0
            continue
        }
        i = match(s, /\/\*|\/\/|"|'/)
        if (i == 0)
            return out s
        out = out substr(s, 1, i - 1)
        c = substr(s, i, 1)
        if (c == "/") {
            if (substr(s, i + 1, 1) == "/")
                return out
            in_comment = 1
            s = substr(s, i + 2)
            out = out " "
            continue
        }
        s = substr(s, i + 1)
        closed = (c == "\"") ? match(s, /^([^"\\]|\\.)*"/) : match(s, /^([^'\\]|\\.)*'/)
        if (!closed)
            return out c c
        s = substr(s, RLENGTH + 1)
        out = out c c
    }
    return out
}

function last_word(s) {
    sub(/[^A-Za-z0-9_]*$/, "", s)
    sub(/.*[^A-Za-z0-9_]/, "", s)
    return s
}

# Whether what the head of a declaration declares is constant: const stands after the last star.
function is_constant(head) {
    sub(/.*\*/, "", head)
    return (" " head " ") ~ /[^A-Za-z0-9_]const[^A-Za-z0-9_]/
}

FNR == 1 {
    in_comment = 0
    in_src = FILENAME ~ /^src\//
    is_c = FILENAME ~ /\.[ch]$/
    room = room_of(FILENAME)
    function_line = 0
    head = ""
    if (is_c)
        first_line()
    if (in_src && !(room in class))
        found("arrow", "room " room " has no place in test/source.awk: tool, brain, hand or top?")
}

{
    shape()
    code = is_c ? code_of($0) : ""
}

is_c && code ~ /^[ ]*#[ ]*include/ {
    included()
}

in_src && is_c {
    calls(code)
    functions()
    globals()
    if (FNR == file_max + 1)
        found("file-length", "more than " file_max " lines: make it two rooms")
}

function first_line(    want) {
    want = "/* " base_name(FILENAME) " - "
    if (substr($0, 1, length(want)) != want)
        found("first-line", "begin with " want "one sentence")
    else if (in_src && $0 !~ /[^ ] \*\/$/)
        found("first-line", "the first comment must end on line 1; the amalgamator needs it")
}

function shape() {
    if (length($0) > line_max)
        found("line-length", length($0) " bytes, at most " line_max)
    if (index($0, "\t"))
        found("tab", "tab")
    if ($0 ~ /[ \t\r]$/)
        found("trailing-blank", "blank at the end of the line")
    if ($0 ~ unfinished)
        found("unfinished", "unfinished work is not committed")
}

function included(    path, of) {
    path = $0
    if ($0 ~ /^[ ]*#[ ]*include[ ]*</) {
        sub(/^[^<]*</, "", path)
        sub(/>.*/, "", path)
        if (in_src)
            system_header(path)
        return
    }
    sub(/^[^"]*"/, "", path)
    sub(/".*/, "", path)
    if (FILENAME ~ /^(examples|extras)\//)
        outside_header(path)
    if (!in_src || path == "phoenix.h")
        return
    if ($0 !~ /^#include "[a-z_0-9]*\.h"/)
        found("include-form", "write #include \"room.h\" from column 0, or the amalgamator misses it")
    of = room_of(path)
    if (of == room)
        return
    if (of == "phx")
        found("arrow", "nobody includes state.h")
    else if (!(of in class))
        found("arrow", "no such room: " of)
    else if (class[room] != "top" && !((class[room], of) in may))
        found("arrow", room " (" class[room] ") may not include " path " (" class[of] ")")
}

function system_header(path) {
    if (path ~ /^(pthread|threads|setjmp)\.h$/)
        found("socket-header", "<" path "> has no place in the core")
    else if (room != "os" && (path ~ /^(netinet|net|arpa)\// ||
             path ~ /^sys\/(socket|un|epoll|event|eventfd|select|ioctl|time|random)\.h$/ ||
             path ~ /^(netdb|poll|fcntl|unistd|time|signal|ifaddrs)\.h$/))
        found("socket-header", "<" path "> belongs in os.c only")
}

# phoenix.h, by whatever way, or a header of the same folder; an example may use an extra.
function outside_header(path,    beside, line) {
    if (path ~ /^(\.\.\/)*phoenix\.h$/)
        return
    if (FILENAME ~ /^examples\// && path ~ /^extras\/[a-z]+\/[a-z]+\.h$/)
        return
    beside = FILENAME
    sub(/[^\/]*$/, "", beside)
    if (path !~ /\// && (getline line < (beside path)) >= 0) {
        close(beside path)
        return
    }
    found("public-only", "of Phoenix only phoenix.h may be included here, not " path)
}

function calls(s,    name) {
    gsub(/(->|\.)[ ]*[A-Za-z_][A-Za-z0-9_]*/, " ", s)
    while (match(s, /[A-Za-z_][A-Za-z0-9_]*[ ]*\(/)) {
        name = substr(s, RSTART, RLENGTH - 1)
        sub(/[ ]*$/, "", name)
        if (name in banned)
            found("banned-call", name "()")
        if (name in allocator && FILENAME != "src/base/mem.c")
            found("allocator", name "() belongs in mem.c only")
        if (name == "clock_gettime" && room != "os")
            found("clock", name "() belongs in os.c only")
        s = substr(s, RSTART + RLENGTH)
    }
}

function functions(    s) {
    if (code ~ /^[A-Za-z_].*\(/) {
        s = code
        sub(/\(.*/, "", s)
        function_name = last_word(s)
        if (code ~ /\)[ ]*\{/)
            found("function-length", "the brace that opens " function_name " belongs in column 0")
    }
    if (code ~ /^\{/)
        function_line = FNR
    if (code ~ /^\}/ && function_line > 0) {
        if (FNR - function_line + 1 > function_max)
            found("function-length", function_name " has " (FNR - function_line + 1) " lines, at most " \
                  function_max)
        function_line = 0
    }
}

# Static declarations, gathered up to the sign that tells a function from a variable; and anything in
# column 0 that looks like a variable. What slips through here is found by nm in run.sh.
function globals(    sign, name, words_count, part, s) {
    if (head == "" && code ~ /^[ ]*static[ ]/)
        head = " "
    if (head != "") {
        head = head " " code
        if (!match(head, /[;={(\[]/))
            return
        sign = substr(head, RSTART, 1)
        s = substr(head, RSTART + 1)
        name = substr(head, 1, RSTART - 1)
        head = ""
        if (sign == "(" && s !~ /^[ ]*\*/)
            static_name(last_word(name))
        else if (sign == "(" ? s !~ /^[ ]*\*[ ]*const[ ]/ : !is_constant(name))
            found("global", "mutable static data: " last_word(name))
        return
    }
    if (code !~ /^[A-Za-z_][A-Za-z0-9_ *]*(\[[^\]]*\])*[ ]*[=;]/ || code ~ /^(typedef|extern|else|return)/)
        return
    s = code
    sub(/[\[=;].*/, "", s)
    words_count = split(s, part, " ")
    if (words_count > (s ~ /^(struct|union|enum) / ? 2 : 1) && !is_constant(s))
        found("global", "mutable global: " last_word(s))
}

function static_name(name) {
    if (name in home && home[name] != FILENAME)
        found("static-name", name " is static in " home[name] " too")
    home[name] = FILENAME
}
