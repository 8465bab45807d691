# source.awk - reads the sources and prints one line "rule<TAB>file:line: what" for each broken convention.
#
# A crude reader of C, good enough for sources that keep to the conventions it checks: functions open and
# close with a brace in column 0, structs, includes and file-scope declarations begin in column 0. Comments
# and literals are cut out before anything but the shape of lines is looked at. See source.sh for the rules.
#
# order=FILE names a file with the stair, lowest first: all headers, then all sources, one path on each line
# (`amalgamate.sh --list` prints it). With count=1 it prints totals, "name<TAB>number", and no findings.

BEGIN {
    line_max = 110
    function_max = 70
    file_max = 1000
    members_max = 30

    words("base wire", "tool", class)
    words("route detect names dial post", "brain", class)
    words("os tls link", "hand", class)
    words("node", "node", class)
    read_order()

    words("strcpy strcat strdup sprintf vsprintf sscanf strtok gets atoi atol atof alloca", 1, banned)
    words("rand srand random time gettimeofday sleep usleep nanosleep", 1, banned)
    words("printf fprintf vprintf vfprintf puts fputs putchar fwrite perror", 1, banned)
    words("exit _exit abort signal sigaction raise", 1, banned)
    words("malloc calloc realloc free", 1, allocator)

    # Split so that this file does not find itself.
    unfinished = "(^|[^A-Za-z0-9_])(TO" "DO|FIX" "ME|XX" "X|HA" "CK)([^A-Za-z0-9_]|$)"
    # Pages that are not in the repository. ("promises 5 bytes" is no citation.)
    cited = "[Pp]romise +[0-9]|[Pp]romises +[0-9]+(, [0-9]| and [0-9]| to [0-9]|-)|" \
        "(^|[^A-Za-z0-9_])(PITFALLS|DESIGN|HOUSE|FAULTS|PMI[.]md|FTMPI[.]md)([^A-Za-z0-9_]|$)"
}

function words(list, value, into,    n, i, part) {
    n = split(list, part, " ")
    for (i = 1; i <= n; i++)
        into[part[i]] = value
}

# A source's step on the stair is its place among the sources. A header stands on the step of the source of
# its name or, if there is none, just above the highest of the headers before it.
function read_order(    path, n, i, header, last) {
    while (order != "" && (getline path < order) > 0) {
        if (path ~ /\.h$/) {
            header[++n] = path
            header_place[path] = n
        } else {
            step[path] = ++last
            files_of[room_of(path)] = files_of[room_of(path)] " " stem(path)
        }
    }
    last = 0
    for (i = 1; i <= n; i++) {
        path = owner(header[i]) ".c"
        step[header[i]] = path in step ? step[path] : last + 0.001
        if (step[header[i]] > last)
            last = step[header[i]]
    }
}

function found(rule, what) {
    found_at(rule, FILENAME, FNR, what)
}

function found_at(rule, file, line, what) {
    findings[rule]++
    if (!count)
        printf "%s\t%s:%d: %s\n", rule, file, line, what
}

function base_name(path) {
    sub(/.*\//, "", path)
    return path
}

function owner(path) { # src/room/file: a header and its source are one to each other
    sub(/\.[ch]$/, "", path)
    return path
}

function stem(path) {
    return owner(base_name(path))
}

function room_of(path) { # of src/room/file.c, and "" of anything else
    if (path !~ /^src\/[a-z0-9]+\/[a-z0-9]+\.[ch]$/)
        return ""
    sub(/^src\//, "", path)
    sub(/\/.*/, "", path)
    return path
}

# Arrows between rooms.
function allowed(from, to) {
    if (from == to || class[from] == "node" || to == "base")
        return 1
    if (from == "base" || from == "wire")
        return 0
    return to == "wire" || (class[from] == "hand" && class[to] == "hand")
}

# Whether a file of that path may not use the other since it stands later.
function runs_up(from, to) {
    return (from in step) && (to in step) && step[to] > step[from]
}

# The line without comments, and with nothing between quotes; what the comments say is added to said.
# in_comment carries over to the next line.
function code_of(s,    out, i, c, closed) {
    out = ""
    while (s != "") {
        if (in_comment) {
            i = index(s, "*/")
            if (i == 0) {
                said = said s
                return out
            }
            said = said substr(s, 1, i - 1) " "
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
            if (substr(s, i + 1, 1) == "/") {
                said = said substr(s, i + 2)
                return out
            }
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
    is_c = FILENAME ~ /\.[ch]$/ && FILENAME !~ /\/mpif\.h$/ # which is Fortran
    outside = FILENAME ~ /^(examples|extras)\//
    in_house = FILENAME ~ /^extras\/(launch|ftmpi)\//
    room = room_of(FILENAME)
    function_line = 0
    head = ""
    prototype = ""
    depth = 0
    guard = in_src && FILENAME ~ /\.h$/ ? 1 : 0
    last_said = ""
    if (is_c)
        first_line()
    if (in_src && is_c && !(room in class))
        found("arrow", "the room \"" room "\" has no place in test/source.awk: tool, brain, hand or node?")
    else if (in_src && is_c && !(FILENAME in step))
        found("stair", "not in the list of amalgamate.sh")
}

{
    shape()
}

is_c && (in_src || outside) {
    said = ""
    code = code_of($0)
    if (code ~ /^[ ]*#[ ]*include/)
        included()
}

is_c && (in_src || FILENAME ~ /^(test|extras)\//) && FNR == file_max + 1 {
    found("file-length", "more than " file_max " lines: make it two files")
}

in_src && is_c {
    lines++
    if (code !~ /^[ ]*$/)
        code_lines++
    if (guard)
        guarded()
    cites()
    calls(code)
    uses(code)
    functions()
    members()
    globals()
}

# The launcher and the MPI are houses of their own: short functions, no data that changes, nothing quoted that
# nobody has.
in_house && is_c {
    cites()
    functions()
    globals()
}

END {
    between_files()
    if (count)
        totals()
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
    if ($0 !~ /^#include "[a-z0-9]+\/[a-z0-9]+\.h"/)
        found("include-form", "write #include \"room/file.h\" from column 0, or the amalgamator misses it")
    path = "src/" path
    of = room_of(path)
    if (!(of in class) || !(path in step))
        found("arrow", "no such header: " path)
    else if (of == "node" && room != "node")
        found("arrow", "nobody includes node/")
    else if (!allowed(room, of))
        found("arrow", room " (" class[room] ") may not include " path " (" class[of] ")")
    if (runs_up(FILENAME, path))
        found("stair", path " stands later in the list")
    else if ((FILENAME in header_place) && header_place[path] > header_place[FILENAME])
        found("stair", path " stands later among the headers")
}

function guarded(    want) {
    if (code ~ /^[ ]*$/)
        return
    want = toupper(FILENAME)
    sub(/^SRC\//, "", want)
    gsub(/[^A-Z0-9]/, "_", want)
    want = (guard == 1 ? "#ifndef PHX_" : "#define PHX_") want
    if (code != want)
        found("include-form", "the first lines of code are the include guard: " want)
    guard = guard == 1 && code == want ? 2 : 0
}

# The last line of a comment is kept, since a citation may be broken into two.
function cites() {
    if (said == "") {
        last_said = ""
        return
    }
    sub(/^ *\*? */, "", said)
    if (said ~ cited || (last_said ~ /[Pp]romises? *$/ && said ~ /^[0-9]/))
        found("citation", "cites a page that is not in the repository")
    last_said = said
}

function system_header(path) {
    if (path ~ /^(pthread|threads|setjmp)\.h$/)
        found("socket-header", "<" path "> has no place in the core")
    else if (FILENAME == "src/base/addr.c" && path ~ /^(arpa\/inet|sys\/socket)\.h$/)
        return # inet_pton reads and asks nobody
    else if (room != "os" && (path ~ /^(netinet|net|arpa)\// ||
             path ~ /^sys\/(socket|un|epoll|event|eventfd|select|ioctl|time|random)\.h$/ ||
             path ~ /^(netdb|poll|fcntl|unistd|time|signal|ifaddrs)\.h$/))
        found("socket-header", "<" path "> belongs in os/ only")
}

# phoenix.h, by whatever way, or a header of the same folder; an example may use an extra. The MPI has a
# folder for its library, its launcher is made of parts of extras/launch, and the command phx speaks ssh.
function outside_header(path,    beside, line) {
    if (path ~ /^(\.\.\/)*phoenix\.h$/)
        return
    if (FILENAME ~ /^examples\// && path ~ /^extras\/[a-z]+\/[a-z]+\.h$/)
        return
    beside = FILENAME
    sub(/[^\/]*$/, "", beside)
    if (path !~ /\// && stands_at(beside path))
        return
    if (FILENAME ~ /^extras\/ftmpi\/lib\// && path ~ /^(\.\.\/)?mpi(-ext)?\.h$/)
        return
    if (FILENAME == "extras/phx/tool.h" && path == "../ssh/ssh.h")
        return
    if (FILENAME == "extras/launch/ftmpi.c" && path == "../ftmpi/lib/arbiter.h")
        return
    if (FILENAME == "extras/launch/options.c" && path == "../ftmpi/lib/modes.h")
        return
    if (FILENAME == "extras/ftmpi/ftmpirun.c" && path ~ /^(lib|\.\.\/launch)\/[a-z]+\.h$/ \
        && stands_at(beside path))
        return
    found("public-only", "of Phoenix only phoenix.h may be included here, not " path)
}

function stands_at(path,    line, there) {
    there = (getline line < path) >= 0
    close(path)
    return there
}

function calls(s,    name) {
    gsub(/(->|\.)[ ]*[A-Za-z_][A-Za-z0-9_]*/, " ", s)
    while (match(s, /[A-Za-z_][A-Za-z0-9_]*[ ]*\(/)) {
        name = substr(s, RSTART, RLENGTH - 1)
        sub(/[ ]*$/, "", name)
        if (name in banned)
            found("banned-call", name "()")
        if (name in allocator && FILENAME != "src/base/mem.c")
            found("allocator", name "() belongs in base/mem.c only")
        if (name == "clock_gettime" && room != "os")
            found("clock", name "() belongs in os/ only")
        s = substr(s, RSTART + RLENGTH)
    }
}

# Declarations of shared functions, and every other mention of a function's name: a call, or its address in
# a table of operations. Tags and members of structs may be called as functions are, so they are cut out.
function uses(s,    name) {
    if (s ~ /^PHX_PRIVATE[ ]/)
        prototype = " "
    if (prototype != "") {
        prototype = prototype " " s
        name = prototype
        if (!sub(/\(.*/, "", name))
            return
        prototype = ""
        name = last_word(name)
        declare(name)
        sub(name, " ", s)
    }
    if (!index(s, "phx_"))
        return
    gsub(/(->|\.|struct[ ]|union[ ]|enum[ ])[ ]*[A-Za-z_][A-Za-z0-9_]*/, " ", s)
    while (match(s, /(^|[^A-Za-z0-9_])phx_[A-Za-z0-9_]*/)) {
        name = substr(s, RSTART, RLENGTH)
        sub(/^[^p]/, "", name)
        use_name[++use_count] = name
        use_file[use_count] = FILENAME
        use_line[use_count] = FNR
        s = substr(s, RSTART + RLENGTH)
    }
}

function declare(name) {
    if (name in declared_in)
        return
    declared[++declared_count] = name
    declared_in[name] = FILENAME
    declared_at[name] = FNR
}

function functions(    s) {
    if (code ~ /^[A-Za-z_].*\(/) {
        s = code
        sub(/\(.*/, "", s)
        function_name = last_word(s)
        if (code ~ /\)[ ]*\{/)
            found("function-length", "the brace that opens " function_name " belongs in column 0")
    }
    if (code ~ /^\{/) {
        function_line = FNR
        if (in_src && !(function_name in defined_in)) {
            function_count++
            defined_in[function_name] = FILENAME
        }
    }
    if (code ~ /^\}/ && function_line > 0) {
        if (FNR - function_line + 1 > function_max)
            found("function-length", function_name " has " (FNR - function_line + 1) " lines, at most " \
                  function_max)
        function_line = 0
    }
}

# The members of a struct that begins in column 0, with those of structs inside it in place of these. depth is
# that of braces; of commas those count that stand between no parentheses, and none in an enum.
function members(    s, c) {
    if (code ~ /^[ ]*#/)
        return
    s = code
    if (depth == 0) {
        if (code !~ /^(typedef[ ]+)?struct[ A-Za-z0-9_]*\{/)
            return
        struct_line = FNR
        struct_name = code
        sub(/[ ]*\{.*/, "", struct_name)
        sub(/^[^{]*\{/, "", s)
        member_count = parens = in_enum = was_struct = 0
        depth = 1
    }
    while (depth > 0 && match(s, /[][{}();,]/)) {
        c = substr(s, RSTART, 1)
        if (c == "{") {
            depth++
            if ((" " substr(s, 1, RSTART)) ~ /[^A-Za-z0-9_]enum[^A-Za-z0-9_]/)
                in_enum = depth
        } else if (c == "}") {
            was_struct = depth != in_enum
            in_enum = 0
            depth--
        } else if (c == "(" || c == "[") {
            parens++
        } else if (c == ")" || c == "]") {
            parens--
        } else if (parens == 0 && !in_enum) {
            if (c == "," || !was_struct)
                member_count++
            if (c == ";")
                was_struct = 0
        }
        s = substr(s, RSTART + 1)
    }
    if (depth > 0)
        return
    if (member_count > members_max)
        found_at("struct-size", FILENAME, struct_line, struct_name " has " member_count " members, at most " \
                 members_max)
    if (member_count > most_members)
        most_members = member_count
}

# Static declarations, gathered up to the sign that tells a function from a variable; and anything in
# column 0 that looks like a variable. What slips through here is found by nm in run.sh.
function globals(    sign, name, words_count, part, s) {
    if (head == "" && code ~ /^[ ]*static[ ]/)
        head = " "
    if (head != "") {
        head = head " " code
        if (!match(head, /[;={([]/))
            return
        sign = substr(head, RSTART, 1)
        s = substr(head, RSTART + 1)
        name = substr(head, 1, RSTART - 1)
        head = ""
        if (sign == "(" && s !~ /^[ ]*\*/)
            static_name(last_word(name))
        else if (sign == "(" ? s !~ /^[ ]*\*[ ]*const[ ]/ : !is_constant(name) && !is_the_process(name))
            found("global", "mutable static data: " last_word(name))
        return
    }
    if (code !~ /^[A-Za-z_][A-Za-z0-9_ *]*(\[[^]]*\])*[ ]*[=;]/ || code ~ /^(typedef|extern|else|return)/)
        return
    s = code
    sub(/[=;[].*/, "", s)
    words_count = split(s, part, " ")
    if (words_count > (s ~ /^(struct|union|enum) / ? 2 : 1) && !is_constant(s) && !is_the_process(s))
        found("global", "mutable global: " last_word(s))
}

# The calls of MPI have no argument for the process that they are made in, a COMMON of Fortran is known by
# its address, and MPI hands an error handler nothing of the program's.
function is_the_process(s) {
    return FILENAME == "extras/ftmpi/lib/mpi_init.c" && s ~ /^struct ftm \*ftm_this *$/ || \
        FILENAME == "extras/ftmpi/lib/fortran_env.c" && s ~ /^struct [a-z_]* F_COMMON *$/ || \
        FILENAME == "extras/ftmpi/examples/example5.c" && s ~ /static struct program g *$/
}

function static_name(name) {
    if (!in_src)
        return
    if (name in home && home[name] != FILENAME)
        found("static-name", name " is static in " home[name] " too")
    home[name] = FILENAME
}

# ---- What can be said only when all files are read ------------------------------------------------------

function between_files(    i, name, from, to) {
    for (i = 1; i <= use_count; i++) {
        name = use_name[i]
        from = use_file[i]
        if (!(name in defined_in) || from == defined_in[name])
            continue
        used_outside[name] = 1
        to = defined_in[name]
        if (owner(from) == owner(to))
            continue
        if (!allowed(room_of(from), room_of(to)))
            found_at("arrow", from, use_line[i], room_of(from) " may not call " name "() of " to)
        if (runs_up(from, to))
            found_at("stair", from, use_line[i], name "() of " to ", which stands later in the list")
    }
    for (i = 1; i <= declared_count; i++)
        shared(declared[i])
}

function shared(name,    path, line) {
    path = declared_in[name]
    line = declared_at[name]
    if (!(name in defined_in)) {
        found_at("unshared", path, line, name "() is declared and defined nowhere")
        return
    }
    shared_count++
    prefixed(name, defined_in[name], path, line)
    if (!(name in used_outside) && name ~ /^phx_/)
        found_at("unshared", path, line, name "() is called by its own file only: make it static")
}

# In base phx__file_, else phx__room_file_, and phx__room_ in the file that is called as its room, or in
# node/base; there, a name that begins as those of another file do is none.
function prefixed(name, file, path, line,    of, want, whole, n, i, part) {
    of = room_of(file)
    whole = stem(file) == of || file == "src/node/base.c"
    want = "phx__" of "_"
    if (of == "base")
        want = "phx__" stem(file) "_"
    else if (!whole)
        want = want stem(file) "_"
    if (index(name, want) != 1) {
        found_at("prefix", path, line, name "() of " file " should begin with " want)
        return
    }
    if (of == "base" || !whole)
        return
    n = split(files_of[of], part, " ")
    for (i = 1; i <= n; i++)
        if (part[i] != stem(file) && index(name, want part[i] "_") == 1)
            found_at("prefix", path, line, name "() of " file " reads as if it were of " of "/" part[i] ".c")
}

function totals() {
    printf "lines\t%d\n", lines
    printf "code\t%d\n", code_lines
    printf "functions\t%d\n", function_count
    printf "shared\t%d\n", shared_count
    printf "unshared\t%d\n", findings["unshared"]
    printf "members\t%d\n", most_members
    printf "up\t%d\n", findings["stair"]
    printf "long\t%d\n", findings["file-length"]
}
