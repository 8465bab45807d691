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

demo: phoenix.c
	@./examples/run_demo.sh

sim:
	@if [ -d test/sim ]; then ./test/sim/run.sh; else echo 'make sim: test/sim is not there yet'; fi

clean:
	rm -rf build phoenix.c.tmp

FORCE:
.PHONY: all test demo sim clean FORCE
