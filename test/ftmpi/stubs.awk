# stubs.awk - writes C in which each function of mpi.h does nothing if FTM_STUB names it, and its work otherwise.
BEGIN {
    RS = ";"
    print "#include \"mpi.h\"\n#include <stdlib.h>\n#include <string.h>\n"
    print "static int stubbed(const char *name)\n{"
    print "    const char *it = getenv(\"FTM_STUB\");\n"
    print "    return it != NULL && strcmp(it, name) == 0;\n}\n"
}
{
    gsub(/[ \n\t]+/, " ")
    sub(/^.*\*\/ /, " ")
}
/^ (int|double) MPI_[A-Z][a-z][a-z_]*\(.*\)$/ && !/ MPI_Pcontrol\(/ {
    head = substr($0, 2)
    type = head
    sub(/ .*/, "", type)
    name = head
    sub(/^[a-z]* MPI_/, "", name)
    list = name
    sub(/\(.*/, "", name)
    sub(/^[^(]*\(/, "", list)
    sub(/\)$/, "", list)
    n = split(list, part, /, /)
    call = ""
    for (i = 1; i <= n && list != "void"; i++) {
        gsub(/\[[0-9]*\]/, "", part[i])
        sub(/.*[ *]/, "", part[i])
        call = call (i > 1 ? ", " : "") part[i]
    }
    printf "%s\n{\n    return stubbed(\"%s\") ? MPI_SUCCESS : PMPI_%s(%s);\n}\n\n", head, name, name, call
}
END {
    print "int MPI_Pcontrol(const int level, ...)\n{"
    print "    return stubbed(\"Pcontrol\") ? MPI_SUCCESS : PMPI_Pcontrol(level);\n}"
}
