#!/bin/sh
# names.sh - the functions of MPI-1.2 are in the header and in the library, as MPI_, PMPI_ and for Fortran.
. "$(dirname "$0")/tap.inc"

library=${FTMPI_BUILD:-$ROOT/build/ftmpi}/libftmpi.a
"$ROOT/extras/ftmpi/ftmpicc" -build > "$work/out" 2> "$work/err"
ok $? 'the library is built'
# What the header declares, in one line each.
tr '\n' ' ' < "$ROOT/extras/ftmpi/mpi.h" | tr ';' '\n' |
    sed -n 's/.*[ *]\(P*MPI_[A-Z][a-z][a-z_]*\)(.*/\1/p' |
    sed '/_function$/d;/_fn$/d' | sort -u > "$work/declared"
nm "$library" 2> "$work/err" | sed -n 's/.* [TW] //p' | sort -u > "$work/defined"
# Those that MPI-1.2 has.
sed '/^#/d' "$ROOT/test/ftmpi/functions" | tr ' ' '\n' | sort > "$work/wanted"

missing() { # prefix, where, how a name is written there
    sed "s/^/$1/" "$work/wanted" | $3 | sort > "$work/list"
    comm -23 "$work/list" "$2" > "$work/out"
    same "$(wc -l < "$work/list" | tr -d ' ') $(wc -l < "$work/out" | tr -d ' ')" '129 0' "$4"
}
lower() { tr '[:upper:]' '[:lower:]' | sed 's/$/_/'; }
missing MPI_ "$work/declared" cat '129 functions are declared'
missing PMPI_ "$work/declared" cat 'and again as PMPI_'
missing MPI_ "$work/defined" cat 'they are defined'
missing PMPI_ "$work/defined" cat 'and again as PMPI_'
missing MPI_ "$work/defined" lower 'and for Fortran'
missing PMPI_ "$work/defined" lower 'and again as PMPI_ for Fortran'
# The names of ULFM.
tr ';' '\n' < "$ROOT/extras/ftmpi/mpi-ext.h" | sed -n 's/^int P*MPIX_\([A-Z][a-z_]*\)(.*/\1/p' |
    sort -u > "$work/list"
same "$(wc -l < "$work/list" | tr -d ' ')" 10 'mpi-ext.h declares 10'
{
    sed 's/^/MPIX_/;p;s/^/P/' "$work/list"
    tr '[:upper:]' '[:lower:]' < "$work/list" | sed 's/.*/mpix_&_/;p;s/^/p/'
} | sort > "$work/ulfm"
same "$(comm -23 "$work/ulfm" "$work/defined")" '' 'they are defined, with P and for Fortran'
# Whatever else the header declares is there, too; and what the library adds to a program is its own.
comm -23 "$work/declared" "$work/defined" > "$work/out"
same "$(wc -l < "$work/out" | tr -d ' ')" 0 'all that is declared is defined'
grep -v -e '^P*MPIX*_' -e '^p*mpix*_' -e '^ftm_' -e '^phx_' "$work/defined" > "$work/out"
same "$(wc -l < "$work/out" | tr -d ' ')" 0 'and nothing has a name that could be the program'"'"'s'
done_testing
