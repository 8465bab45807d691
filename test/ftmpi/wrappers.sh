#!/bin/sh
# wrappers.sh - ftmpicc and its kin, CMake, one line of cc, and ranks that a shell starts.
. "$(dirname "$0")/tap.inc"

cat > "$work/hello.c" <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("%d of %d\n", rank, size);
    MPI_Finalize();
    return 0;
}
END
cp "$work/hello.c" "$work/hello.cpp"
wrapper=${FTMPICC%% *}
flags=${FTMPICC#"$wrapper"}
folder=$(dirname "$wrapper")

$wrapper $flags -c "$work/hello.c" -o "$work/hello.o" > "$work/out" 2> "$work/err"
ok $? 'ftmpicc -c'
$wrapper $flags "$work/hello.o" -o "$work/hello" > "$work/out" 2> "$work/err"
ok $? 'ftmpicc links'
run -n 2 "$work/hello"
same "$(sort "$work/out" | tr '\n' ,)" '0 of 2,1 of 2,' '.. what runs'
$wrapper -show x.c > "$work/out"
grep -q '^[^ ]* -I.*extras/ftmpi x.c .*libftmpi.a$' "$work/out"
ok $? '-show'
same "$($wrapper -showme:compile)" "-I$ROOT/extras/ftmpi" '-showme:compile'
same "$($wrapper -showme:link | grep -c 'libftmpi.a$')" 1 '-showme:link'
$wrapper > "$work/out" 2> "$work/err"
same $? 1 'nothing to do'
$wrapper $flags "$work/missing.c" > "$work/out" 2> "$work/err"
[ $? -ne 0 ]
ok $? 'the compiler'\''s failure is ours'

if command -v c++ > /dev/null; then
    FTMPI_CXX="c++ $flags" "$folder/ftmpicxx" "$work/hello.cpp" -o "$work/hellocpp" \
        > "$work/out" 2> "$work/err"
    ok $? 'ftmpicxx'
    run -n 2 "$work/hellocpp"
    same "$(sort "$work/out" | tr '\n' ,)" '0 of 2,1 of 2,' '.. what runs'
else
    ok 0 'ftmpicxx # SKIP no c++'
fi

if command -v cmake > /dev/null && command -v c++ > /dev/null; then
    cat > "$work/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.10)
project(hello C)
find_package(MPI REQUIRED COMPONENTS C)
add_executable(hello hello.c)
target_link_libraries(hello MPI::MPI_C)
END
    mkdir "$work/cmake"
    (cd "$work/cmake" && cmake -DCMAKE_C_FLAGS="$flags" -DMPI_C_COMPILER="$wrapper" .. && make) \
        > "$work/out" 2> "$work/err"
    ok $? 'CMake finds it'
    run -n 2 "$work/cmake/hello"
    same "$(sort "$work/out" | tr '\n' ,)" '0 of 2,1 of 2,' '.. what runs'
else
    ok 0 'CMake # SKIP no cmake'
fi

# Two lines of shell. A port that somebody has by chance is a failure of this test alone.
port=$((20000 + $$ % 12000))
for rank in 0 1; do
    FTMPI_HUB=tcp://127.0.0.1:$port FTMPI_SIZE=2 FTMPI_RANK=$rank timeout 20 "$work/hello" \
        > "$work/out.$rank" &
done
wait
same "$(cat "$work/out.0" "$work/out.1" | tr '\n' ,)" '0 of 2,1 of 2,' 'a shell starts two ranks'
FTMPI_SIZE=2 FTMPI_RANK=1 timeout 20 "$work/hello" > "$work/out" 2> "$work/err"
[ $? -ne 0 ] && said FTMPI_HUB
ok $? 'nobody to join: one line'
done_testing
