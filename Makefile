# For those who work on Phoenix. A user needs none of this: cc -c phoenix.c
CC ?= cc
CFLAGS ?= -std=c99 -O2 -g -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wundef -pedantic

all: build/phoenix.o

# Always asked, since a room may have come or gone; an unchanged phoenix.c keeps its time.
phoenix.c: FORCE
	@./amalgamate.sh

build/phoenix.o: phoenix.c phoenix.h
	@mkdir -p build
	$(CC) $(CFLAGS) -c phoenix.c -o $@

# Does not freshen phoenix.c first: a stale one must fail. ONLY=t_wire picks by name.
test:
	@./test/run.sh $(if $(ONLY),--only '$(ONLY)')

# A minute: phoenix.c builds, and the unit tests of src/ pass, by one compiler and without sanitizers.
check:
	@./test/run.sh --check

# Would the tests notice? One line of a brain is changed at a time: SEED=1 COUNT=100 ONLY=route STAGES=room
# AGAIN=1 FRESH=1 JOBS=2; see the script.
mutants: phoenix.c
	@SEED='$(SEED)' COUNT='$(COUNT)' ONLY='$(ONLY)' STAGES='$(STAGES)' AGAIN='$(AGAIN)' FRESH='$(FRESH)' \
	    ./test/mutants/run.sh

# The launcher of extras/launch, by one compile line.
launch: build/phxrun
launch_arbiter = $(addprefix extras/ftmpi/lib/,arbiter.c start.c modes.c)
build/phxrun: phoenix.c phoenix.h $(wildcard extras/launch/*.[ch]) $(launch_arbiter) $(launch_arbiter:.c=.h)
	@mkdir -p build
	$(CC) $(CFLAGS) -I. -o $@ $(filter-out %/nla.c,$(wildcard extras/launch/*.c)) $(launch_arbiter) phoenix.c

# Eight played hosts, two of them behind a gateway: start, exchange, a rank killed, an agent killed.
demo_launch: launch
	@./extras/launch/demo.sh

# The command of extras/phx, by the compile line in its first comment; TLS=1: with BearSSL.
phx: build/phx
build/phx: phoenix.c phoenix.h $(wildcard extras/phx/*.[ch] extras/ssh/*.[ch])
	@mkdir -p build
	$(CC) $(CFLAGS) $(if $(TLS),-DPHX_TLS) -o $@ extras/phx/*.c extras/ssh/ssh.c phoenix.c $(if $(TLS),-lbearssl)

# The MPI of extras/ftmpi: its library, its launcher for one host, and the compilers' wrappers, in build/ftmpi.
launcher_parts = $(addprefix extras/launch/,proc.c lines.c status.c)
ftmpi: build/ftmpi/ftmpirun
	@for f in ftmpicc ftmpicxx ftmpif77 ftmpif90; do ln -sf ../../extras/ftmpi/$$f build/ftmpi/$$f; done
	@extras/ftmpi/ftmpicc -build
build/ftmpi/ftmpirun: extras/ftmpi/ftmpirun.c $(addprefix extras/ftmpi/lib/,arbiter.c start.c modes.c \
    arbiter.h start.h modes.h wire.h) $(launcher_parts) phoenix.c phoenix.h
	@mkdir -p build/ftmpi
	$(CC) $(CFLAGS) -I. -o $@ $(filter %.c,$^)

# A solver and a farm lose ranks in each mode of --ft; then the examples of the paper. Under a minute.
demo_mpi: ftmpi
	@./extras/ftmpi/demo/demo.sh

demo: phoenix.c
	@./examples/run_demo.sh

# One run: SCENARIO=name SEED=n NODES=n SEEDS=n TRACE=1 ROUTING=naive; SCENARIO=list tells which. Without
# words all scenarios at small size.
sim: phoenix.c
	@SCENARIO='$(SCENARIO)' SEED='$(SEED)' SEEDS='$(SEEDS)' NODES='$(NODES)' TRACE='$(TRACE)' \
	    ROUTING='$(ROUTING)' EVERY='$(EVERY)' FULL='$(FULL)' ./test/sim/run.sh

# A node again from what its cfg.record got: FILE=record, KEYS='files with its keys', V=1: each note. SANE=1, TLS=1.
replay: phoenix.c
	@SANE='$(SANE)' TLS='$(TLS)' ./test/sim/replay.sh $(if $(V),-v) $(FILE) $(KEYS)

# The promised numbers at full size, as lines "bar NAME FIGURE LIMIT ok|short".
bars: phoenix.c
	@./test/sim/run.sh bars

# The figures of the papers again, into build/figures: ONLY='start half', RULES=default; KEEP=1: those that are
# committed go into test/sim/figures.
figures: phoenix.c
	@NODES='$(NODES)' ONLY='$(ONLY)' RULES='$(RULES)' KEEP='$(KEEP)' ./test/sim/run.sh figures

# Times on real processes, beside peers; QUICK=1: does all of it still run? ONLY=stream picks by name.
# CONGESTION=cubic: with that congestion control for all. BEFORE=commit: instead of all this, how fast the
# tree is beside that commit, in lines "bar NAME FIGURE LIMIT ok|short"; ROUNDS=11 MS=250.
bench: phoenix.c
	@QUICK='$(QUICK)' ONLY='$(ONLY)' BEFORE='$(BEFORE)' CONGESTION='$(CONGESTION)' KEEP='$(KEEP)' ./test/bench/run.sh

# What a node pays over links, nodes, names, sizes and hops, into build/curves; QUICK=1, ONLY=hops. KEEP=1:
# and from there into test/bench/curves, its README.md too.
curves: phoenix.c
	@QUICK='$(QUICK)' ONLY='$(ONLY)' KEEP='$(KEEP)' ./test/bench/curves.sh

# What one change costs beside what it does not change, in exact counts: lines "bar NAME FIGURE LIMIT
# ok|short". ONLY=held picks by words of the name.
cliffs: phoenix.c
	@ONLY='$(ONLY)' ./test/bench/cliffs/run.sh

# What failure detection costs: table 2 of the paper again; and beside serf.
bench_detect: phoenix.c
	@QUICK='$(QUICK)' KEEP='$(KEEP)' ./test/bench/detect.sh
bench_serf: phoenix.c
	@./test/bench/serf.sh

# The arguments for routing, delivery and agreement, searched by spin, and each broken on purpose; some minutes.
# ONLY=routing, FULL=1: larger searches, too.
models:
	@ONLY='$(ONLY)' FULL='$(FULL)' ./test/models/run.sh

# Looks for inputs that break something, by clang's libFuzzer: MINUTES=30 or RUNS=100000 for each target,
# ONLY=stream picks, SANE=0: without sanitizers, KEEP=1 keeps what was found in test/fuzz/corpus.
fuzz: phoenix.c
	@MINUTES='$(MINUTES)' RUNS='$(RUNS)' ONLY='$(ONLY)' SANE='$(or $(SANE),1)' KEEP='$(KEEP)' ./test/fuzz/run.sh

# Each allocation and each call of the world fails in turn, in each way: of one of three nodes, of a process of
# MPI, of the launcher and its agents. Some 20 minutes; ONLY=nodes, mpi or launch.
torture: phoenix.c
	@case '$(ONLY)' in '' | nodes) ./test/fuzz/run.sh torture ;; esac
	@case '$(ONLY)' in '' | mpi) SCENARIO=mpi_torture FULL=1 ./test/sim/run.sh ;; esac
	@case '$(ONLY)' in '' | launch) ./test/launch/torture.sh 1 ;; esac

# Which lines of src/ the unit tests reach, by room: ONLY='t_route t_names', V=1 names those that are not.
coverage:
	@ONLY='$(ONLY)' V='$(V)' ./test/coverage.sh

# 32 real processes, half of them under sanitizers, that come, go, are killed and stopped: MINUTES=30 SEED=1.
soak: phoenix.c
	@MINUTES='$(MINUTES)' SEED='$(SEED)' ./test/soak/run.sh

# Real processes behind real NATs and firewalls, in network namespaces, as root: ONLY=pattern picks scenes,
# THIRD=0 every third; RANDOM=minutes of random walls (1), SEED=n of them; V=1 shows more.
lab: phoenix.c
	@MINUTES='$(or $(RANDOM),1)' LAB_ONLY='$(ONLY)' LAB_THIRD='$(THIRD)' LAB_SEED='$(SEED)' LAB_SEND='$(SEND)' QUICK='$(QUICK)' \
	    V='$(V)' ./test/lab/run.sh

# Other C libraries, 32 bits, big endian, by cross compilers and emulators; names what is missing. QUICK=1:
# what takes about a minute.
ports: phoenix.c
	@./test/ports.sh $(if $(QUICK),--quick)

# PREFIX=/usr/local DESTDIR= TLS=1: header, static and shared library, phoenix.pc, phx, phxrun, man pages.
install: phoenix.c
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' CC='$(CC)' TLS='$(TLS)' ./extras/install.sh

clean:
	rm -rf build phoenix.c.tmp

FORCE:
.PHONY: all test check mutants demo launch demo_launch demo_mpi phx ftmpi sim bars figures bench curves cliffs \
    bench_detect bench_serf models fuzz torture coverage soak lab replay ports install clean FORCE
