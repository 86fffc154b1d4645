# Entry points; Meson does the work. `make` builds, `make run` shows, `make check` tests.

BUILD = build
JOBS := $(shell nproc)
NINJA = ninja -j $(JOBS) -C

.PHONY: all run check cpython asan fuzz faults soak coverage bench docs lint format install-build install-test install uninstall clean help

all: $(BUILD)/build.ninja
	@$(NINJA) $(BUILD) --quiet

$(BUILD)/build.ninja:
	@meson setup $(BUILD) --buildtype=release >/dev/null

# Installs what is missing, builds, and runs a program in a sandbox.
run: install-build all
	@tools/demo.sh $(BUILD)/hotcell

# Builds and runs every test, as root again what differs for a user and without control groups; the
# last line is "N passed, M failed".
check: install-test all
	@tests/run --build $(BUILD) --modes

# All of CPython's own regression tests, natively and in sandboxes (half an hour); see tests/cpython/README.md
cpython: install-test all
	@tests/cpython/run --hotcell $(BUILD)/hotcell --results tests/cpython/results.tsv

# The same tests with address and undefined-behaviour sanitizers in hotcell and hotcell-kernel.
asan: install-test
	@[ -e build-asan/build.ninja ] || meson setup build-asan --buildtype=debugoptimized \
		-Db_sanitize=address,undefined -Db_lundef=false >/dev/null
	@$(NINJA) build-asan --quiet
	@ASAN_OPTIONS=detect_leaks=0 tests/run --build build-asan

# Looks for inputs that break a parser, and for calls that break the kernel process; SECONDS for each.
SECONDS = 60
fuzz: install-test
	@[ -e build-fuzz/build.ninja ] || CC=clang-14 meson setup build-fuzz --buildtype=debugoptimized \
		-Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false >/dev/null
	@[ -e build-asan/build.ninja ] || meson setup build-asan --buildtype=debugoptimized \
		-Db_sanitize=address,undefined -Db_lundef=false >/dev/null
	@$(NINJA) build-fuzz --quiet
	@$(NINJA) build-asan --quiet
	@tests/fuzz/run --build build-fuzz --guest build-asan --seconds $(SECONDS)

# Every single allocation of the kernel process fails once (a minute or two).
faults: install-test all
	@BUILD=$(CURDIR)/$(BUILD) FAULTS_STEP=1 /usr/bin/python3 tests/escape/faults.py

# Some thousand lives of sandboxes in one server, and kills under load; ROUNDS of each.
ROUNDS = 2000
soak: install-test all
	@FAULTS_ROUNDS=$(ROUNDS) tests/run --build $(BUILD) server/sandboxes server/faults

# Line coverage of the tests: build-coverage/coverage.txt
coverage: install-test
	@[ -e build-coverage/build.ninja ] || meson setup build-coverage --buildtype=debug \
		-Db_coverage=true >/dev/null
	@$(NINJA) build-coverage --quiet
	@chmod -R a+rwX build-coverage # every sandbox has a uid of its own and adds its counters
	@tests/run --build build-coverage; tools/coverage build-coverage

bench: install-test all
	@bench/run --build $(BUILD)
	@bench/server --build $(BUILD)
	@bench/interpreter --build $(BUILD)

# Regenerates what is generated in docs/; a test compares.
docs:
	@tools/syscalls-doc

lint:
	@tools/lint

format:
	@git ls-files '*.c' '*.h' | xargs clang-format-14 -i

install-build:
	@tools/install.sh build

install-test:
	@tools/install.sh test

# Installs the programs beside each other, the command's link, the systemd unit and the documents.
PREFIX = /usr/local
PROGRAMS = hotcell hotcell-kernel hotcell-stub hotcell-server hotcell-launcher hotcell-client
INTO = $(DESTDIR)$(PREFIX)
install: all
	@install -d $(INTO)/bin $(INTO)/lib/hotcell $(INTO)/lib/systemd/system $(INTO)/share/doc/hotcell
	@install -m 755 $(PROGRAMS:%=$(BUILD)/%) $(INTO)/lib/hotcell
	@rm -rf $(INTO)/lib/hotcell/guest
	@cp -R --preserve=mode $(BUILD)/guest $(INTO)/lib/hotcell/guest
	@ln -sfn ../lib/hotcell/hotcell $(INTO)/bin/hotcell
	@sed 's|/usr/local|$(PREFIX)|' packaging/hotcell.service > $(INTO)/lib/systemd/system/hotcell.service
	@install -m 644 README.md LICENSE docs/*.md $(INTO)/share/doc/hotcell

# Removes what `make install` has installed; data directories stay.
uninstall:
	@rm -rf $(INTO)/lib/hotcell $(INTO)/share/doc/hotcell
	@rm -f $(INTO)/bin/hotcell $(INTO)/lib/systemd/system/hotcell.service

clean:
	@rm -rf build build-asan build-coverage build-fuzz

help:
	@sed -n 's/^# //p' Makefile
