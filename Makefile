# The commands of timesink's own kitchen. `make` alone lists them.
#
# On Debian 12 with Rust, as root, each of them installs what it lacks (through apt) and does its job.
# As another user it says what is to be installed, and stops.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PREFIX ?= /usr/local
DESTDIR ?=
ROUNDS ?= 16
CC ?= gcc

# Rust as rustup installs it, where it is not on the path: root's own, or that of who called sudo.
HOMES := $(HOME) $(if $(SUDO_USER),$(shell getent passwd $(SUDO_USER) | cut -d: -f6))
RUST_HOME := $(firstword $(foreach home,$(HOMES),$(if $(wildcard $(home)/.cargo/bin/cargo),$(home))))
ifneq ($(RUST_HOME),)
export PATH := $(PATH):$(RUST_HOME)/.cargo/bin
export RUSTUP_HOME ?= $(RUST_HOME)/.rustup
endif
CARGO := cargo
# Cargo.lock is part of the source: a build that would change it is an error.
LOCKED := --locked
TIMESINK := target/release/timesink
LEAST_RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# What the page is made with. One that is on the path already does.
FOR_WEB := $(if $(shell command -v node),,nodejs) $(if $(shell command -v npm),,npm)
FOR_BUILD := $(FOR_WEB) clang libclang-dev libelf-dev zlib1g-dev pkg-config gcc libc6-dev
FOR_DEMO := $(FOR_BUILD)
# The unit tests build small programs, take them apart and look whether their functions are found.
FOR_CHECK := $(FOR_BUILD) g++ binutils xz-utils dwz
# The JDK is large (200 MB), but what is said of Java is tested with Java.
# So is Go (450 MB), of which Debian has no smaller package; one that is on the path already does.
FOR_TEST := $(FOR_CHECK) make python3 python3-dev python3-venv python3-psycopg2 nodejs php-cli ruby perl erlang-base default-jdk-headless \
  musl-tools openssl postgresql \
  $(if $(shell command -v go),,golang-go)
# The page is looked at in a browser.
FOR_PAGE := chromium firefox-esr python3
# Another kernel is booted in an emulator, with a system of its own: busybox, bash and Python out of this one.
FOR_KERNELS := $(FOR_BUILD) make binutils musl-tools python3-minimal qemu-system-x86 busybox-static cpio e2fsprogs
# What a single pair needs beside these it says itself.
FOR_PAIRS := $(FOR_BUILD) python3 python3-venv $(if $(shell command -v npm),,npm) $(if $(shell command -v go),,golang-go)
FOR_BENCH := $(FOR_BUILD) make python3 sqlite3 linux-perf strace bpftrace nginx-light wrk redis-server nodejs default-jdk-headless g++ binutils

# $(call need,PACKAGES): installs those that are missing; who is not root is told how to.
define need
	@missing=""; \
	if ! command -v dpkg-query >/dev/null; then \
	  echo "This is not Debian: what is needed cannot be checked. It is, by Debian's names: $(1)"; \
	  exit 0; \
	fi; \
	for package in $(1); do \
	  state=$$(dpkg-query -W -f '$${db:Status-Status}' $$package 2>/dev/null || true); \
	  [ "$$state" = installed ] || missing+=" $$package"; \
	done; \
	[ -n "$$missing" ] || exit 0; \
	if [ "$$(id -u)" != 0 ]; then \
	  echo "make $(MAKECMDGOALS): not installed:$$missing" >&2; \
	  echo "Install it with: sudo apt-get install$$missing" >&2; \
	  exit 2; \
	fi; \
	echo "Installing$$missing"; \
	apt-get update -q; \
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $$missing
endef

help: ## List these commands
	@echo "timesink: where did the time go, why, and what would it buy to fix it?"; echo
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 25

# ---------------------------------------------------------------- building

.PHONY: need-rust need-build need-demo need-check need-test need-kernels need-bench need-pairs need-page need-readers need-python need-root

need-rust:
	@if ! command -v $(CARGO) >/dev/null; then \
	  echo "make: cargo is not on the path, nor in ~/.cargo/bin: install Rust from https://rustup.rs" >&2; \
	  exit 2; \
	fi; \
	has=$$(rustc --version | cut -d' ' -f2); \
	if [ "$$(printf '%s\n' $(LEAST_RUST) $$has | sort -V | head -1)" != $(LEAST_RUST) ]; then \
	  echo "make: this is Rust $$has, and $(LEAST_RUST) or newer is needed: rustup update stable" >&2; \
	  exit 2; \
	fi
need-build:
	$(call need,$(FOR_BUILD))
need-demo:
	$(call need,$(FOR_DEMO))
need-check:
	$(call need,$(FOR_CHECK))
need-test:
	$(call need,$(FOR_TEST))
need-kernels:
	$(call need,$(FOR_KERNELS))
need-bench:
	$(call need,$(FOR_BENCH))
need-pairs:
	$(call need,$(FOR_PAIRS))
need-page:
	$(call need,$(FOR_PAGE))
need-readers:
	@command -v npm >/dev/null || { echo "make readers: npm is not on the path: apt-get install npm" >&2; exit 2; }
need-python:
	@command -v python3 >/dev/null || { echo "make $(MAKECMDGOALS): python3 is not on the path" >&2; exit 2; }
need-root:
	@if [ "$$(id -u)" != 0 ]; then \
	  echo "make $(MAKECMDGOALS): recording needs root, and no test may be skipped: run it as root" >&2; \
	  exit 2; \
	fi

.PHONY: help build install dist uninstall clean

build: need-rust need-build web ## Build target/release/timesink
	$(CARGO) build $(LOCKED) --release -p timesink

# The page that `timesink open` shows: one HTML file, which goes into the binary.
.PHONY: web
web: need-build web/dist/index.html
web/dist/index.html: web/node_modules/.installed web/index.html web/package.json web/tsconfig.json web/vite.config.ts $(shell find web/src -type f)
	npm run --silent --prefix web build
web/node_modules/.installed: web/package-lock.json web/.npmrc
	npm ci --prefix web --no-fund --no-audit --loglevel=error
	@touch $@

SHARE = $(DESTDIR)$(PREFIX)/share
MANUALS = $(SHARE)/man/man1/timesink.1 $(SHARE)/man/man1/timesink-*.1
# timesink makes files as the user who called sudo, who may not be able to write to target: hence `env -u`.
MAN := target/man
install: ## Install the binary, its manual pages and completions below PREFIX (default /usr/local)
	@[ -x $(TIMESINK) ] || { echo "make install: there is no $(TIMESINK) yet: run make build" >&2; exit 2; }
	install -D -s -m 755 $(TIMESINK) $(DESTDIR)$(PREFIX)/bin/timesink
	install -d $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	$(TIMESINK) completions bash > $(SHARE)/bash-completion/completions/timesink
	$(TIMESINK) completions zsh > $(SHARE)/zsh/site-functions/_timesink
	$(TIMESINK) completions fish > $(SHARE)/fish/vendor_completions.d/timesink.fish
	rm -rf $(MAN)
	env -u SUDO_UID -u SUDO_GID -u SUDO_USER $(TIMESINK) man $(MAN)
	install -d $(SHARE)/man/man1
	rm -f $(MANUALS)
	install -m 644 $(MAN)/*.1 $(SHARE)/man/man1

# What is released: the binary with its manual pages and completions, and the source with the page in it, so that nobody who builds it needs
# Node.js.
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
RELEASE = target/dist/timesink-$(VERSION)
dist: build ## Make the release: target/dist/timesink-VERSION-linux-ARCH.tar.gz and timesink-VERSION-src.tar.gz
	rm -rf target/dist && mkdir -p $(RELEASE)
	$(MAKE) --no-print-directory install DESTDIR=$(CURDIR)/$(RELEASE) PREFIX=
	cp README.md CHANGELOG.md LICENSE* $(RELEASE)/
	tar czf $(RELEASE)-linux-$(shell uname -m).tar.gz -C target/dist timesink-$(VERSION)
	rm -r $(RELEASE)
	git archive --prefix=timesink-$(VERSION)/ HEAD -o target/dist/source.tar
	tar rf target/dist/source.tar --transform 's,^,timesink-$(VERSION)/,' web/dist/index.html
	gzip -c target/dist/source.tar > $(RELEASE)-src.tar.gz && rm target/dist/source.tar
	ls -l target/dist

uninstall: ## Remove what make install put there
	rm -f $(DESTDIR)$(PREFIX)/bin/timesink $(SHARE)/bash-completion/completions/timesink \
	  $(SHARE)/zsh/site-functions/_timesink $(SHARE)/fish/vendor_completions.d/timesink.fish $(MANUALS)

clean: ## Remove all that was built
	rm -rf target web/dist web/node_modules

# ---------------------------------------------------------------- the demo

DEMO := target/demo

.PHONY: demo demo-build
demo: need-rust need-demo demo-build ## Record a slow program, change one thing, and prove that it is faster (as root)
	@rm -rf $(DEMO)/*.timesink $(DEMO)/.timesink
	@if [ "$$(id -u)" != 0 ]; then \
	  echo "All is built, but recording needs root. Run:" >&2; \
	  echo "  cd $(DEMO) && sudo ../release/timesink run -o nightly-import.timesink -- ./nightly-import data.txt" >&2; \
	  exit 2; \
	fi
	@echo; echo '$$ cd $(DEMO)'; mkdir $(DEMO)/.timesink
	@echo; echo '# 1. Why is it slow?'
	$(call shown,timesink run -o nightly-import.timesink -- ./nightly-import data.txt)
	@echo; echo '# 2. The first round: as it is, measured five times and recorded.'
	$(call shown,timesink round --runs 5 baseline -- ./nightly-import data.txt)
	@echo; echo '# 3. The first finding, fixed: one flush at the end (cc -DFLUSH_EACH_ROW=0). Did it save what was predicted?'
	$(call shown,timesink round --runs 5 "one flush" -- ./one-flush data.txt)
	@echo; echo '# 4. What differs?'
	$(call shown,timesink diff .timesink/rounds/0001/recording.timesink .timesink/rounds/0002/recording.timesink)
	@echo; echo '# 5. Is it really faster? Both in turn, in random order.'
	$(call shown,timesink bench --rounds 8 "./nightly-import data.txt" "./one-flush data.txt")
	@echo
	@echo "The recording is the folder $(DEMO)/nightly-import.timesink, the program demo/nightly-import.c."
	@echo "What to try next:"
	@echo "  $(TIMESINK) why $(DEMO)/nightly-import.timesink 1"
	@echo "  $(TIMESINK) whatif $(DEMO)/nightly-import.timesink --cut sleep"
	@echo "  $(TIMESINK) report --full $(DEMO)/nightly-import.timesink | less"
	@echo "  cd $(DEMO)/nightly-import.timesink && duckdb -c \\"
	@echo "    \"SELECT detail, count(*), sum(t1 - t0) / 1e9 AS s FROM 'spans.parquet' GROUP BY 1 ORDER BY 3 DESC\""
	@echo "  sudo $(TIMESINK) run -- YOUR-PROGRAM"
	@echo "docs/report.md explains each part of the report, docs/rounds.md rounds, FORMAT.md the tables."

# Prints a command of timesink as a user would type it, and runs it there.
define shown
@echo '$$ $(1)'; cd $(DEMO) && ../release/$(1)
endef

.PHONY: picture
picture: need-rust need-demo need-root need-python demo-build ## Record the demo and draw README's picture and screen anew (as root)
	python3 docs/picture.py $(TIMESINK) $(DEMO)

demo-build: build $(DEMO)/nightly-import $(DEMO)/one-flush $(DEMO)/data.txt $(DEMO)/prices.txt

$(DEMO)/nightly-import: FLUSH_EACH_ROW = 1
$(DEMO)/one-flush: FLUSH_EACH_ROW = 0
$(DEMO)/nightly-import $(DEMO)/one-flush: demo/nightly-import.c Makefile
	@mkdir -p $(@D)
	$(CC) -std=gnu17 -O2 -g -Wall -Wextra -Werror -pthread -DFLUSH_EACH_ROW=$(FLUSH_EACH_ROW) -o $@ $<
$(DEMO)/data.txt: Makefile
	@mkdir -p $(@D)
	@seq 4000 | awk '{ print $$1 * 7919 % 400, $$1 }' > $@
$(DEMO)/prices.txt: Makefile
	@mkdir -p $(@D)
	@seq 0 399 | awk '{ printf "%d %.2f\n", $$1, $$1 * 37 % 1000 / 10 }' > $@

# ---------------------------------------------------------------- tests

.PHONY: test check unit web-unit page-test screenshots page-speed lint tidy pages licences deny fuzz fuzz-unguided interop readers live live-disturbed test-kernels test-kernels-all casebook book

# The live tests come last, so that what is read last is their result, and what each part took.
PARTS := unit lint build interop page-test fuzz-unguided test-kernels casebook live
test: need-rust need-test need-root ## Run all tests (as root: the privileged ones too)
	@took=""; \
	trap 'echo "Took, in seconds:$$took"' EXIT; \
	for part in $(PARTS); do \
	  began=$$SECONDS; \
	  $(MAKE) --no-print-directory $$part; \
	  took+=" $$part $$((SECONDS - began))"; \
	done

check: need-rust need-check unit lint ## Run what needs no root: unit tests and lint

unit: web web-unit
	$(CARGO) test $(LOCKED) --no-fail-fast --workspace --exclude timesink-live

# The page's logic, without a browser.
web-unit: web
	cd web && npx --no-install tsc --noEmit && npx --no-install vitest run

# The page in Debian's Chromium, and more briefly in its Firefox: recordings that are drawn and some made now, each view, against what the terminal says.
PAGE_PROGRAMS = TIMESINK=$(TIMESINK) DRAWN=target/release/examples/drawn DEMO=$(DEMO) PAGES=target/pages
page-test: need-rust need-page need-root web demo-build ## Look at the page in a browser, as a person would (as root)
	$(CARGO) build $(LOCKED) --release -p timesink-recording --example drawn
	$(PAGE_PROGRAMS) node --test web/browse/page.test.mjs
	$(PAGE_PROGRAMS) node --test web/browse/firefox.test.mjs

screenshots: need-rust need-page need-root web demo-build ## Take the screenshots of the page that are in docs/page (as root)
	$(CARGO) build $(LOCKED) --release -p timesink-recording --example drawn
	$(PAGE_PROGRAMS) node web/browse/screenshots.mjs docs/page

# How soon the page is there, how smoothly it zooms, and what it takes: SPANS="1000000 10000000".
SPANS ?= 1000000 10000000
page-speed: need-rust need-page web build ## Measure the page with large recordings (SPANS="1000000")
	$(CARGO) build $(LOCKED) --release -p timesink-recording --example service
	@mkdir -p target/page-speed
	for spans in $(SPANS); do [ -d target/page-speed/$$spans ] || target/release/examples/service target/page-speed/$$spans $$spans; done
	TIMESINK=$(TIMESINK) node web/browse/speed.mjs $(addprefix target/page-speed/,$(SPANS))

lint: need-rust need-python web tidy pages ## Check formatting, clippy and the house rules
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(LOCKED) --workspace --all-targets -- -D warnings -D clippy::too_many_lines
	@$(MAKE) --no-print-directory licences
	python3 bench/pairs.py check
	python3 -m unittest discover -q -s bench -p 'test_*.py'

# What goes into the binary may be passed on under our licences, and comes from crates.io as Cargo.lock has it. Of a
# choice one licence has to be among those of deny.toml, of licences that hold together all.
MAY_BE_LINKED := $(shell sed -n '/^allow = \[/,/^]/s/^ *"\(.*\)",/\1/p' deny.toml | paste -sd'|')
licences: need-rust
	@$(CARGO) tree $(LOCKED) --workspace --edges normal,build --prefix none --format '{p}|{l}' | awk -F'|' ' \
	  BEGIN { count = split("$(MAY_BE_LINKED)", names, "|"); for (i = 1; i <= count; i++) may[names[i]] = 1 } \
	  NF < 2 || seen[$$1]++ { next } \
	  { licence = $$2; sub(/ \(\*\)$$/, "", licence); gsub(/[()]/, "", licence); whole = licence ~ / AND /; \
	    count = split(licence, parts, / OR | AND |\//); good = 0; \
	    for (i = 1; i <= count; i++) good += (parts[i] in may); \
	    if (whole ? good < count : !good) { print $$1 ": licence " (licence == "" ? "unknown" : licence); bad = 1 } } \
	  END { exit bad }'
	@! grep '^source' Cargo.lock | grep -v '"registry+https://github.com/rust-lang/crates.io-index"$$'
	@echo "licences: ok"

# The same by cargo-deny, and whether there are advisories against what we use, for which it fetches the list of RustSec.
deny: need-rust ## Check dependencies with cargo-deny: licences, sources, advisories (needs the internet)
	@$(CARGO) deny --version >/dev/null 2>&1 || \
	  { echo "make deny: cargo-deny is not installed: cargo install --locked cargo-deny" >&2; exit 2; }
	$(CARGO) deny check -A duplicate

SOURCES = $$(find crates bench tests demo sdk \( -name '*.rs' -o -name '*.c' -o -name '*.h' -o -name '*.py' \) -not -path '*/target/*')

# Who may do this to files: one room. Tests may, and what is only for them; the casebook, in a work folder of its own.
CHANGES_FILES := fs::(write|rename|remove_(file|dir)|create_dir|set_permissions|copy|hard_link)|[^_](symlink|chown|mkfifo)\(|\
  File::(create|options)|DirBuilder|[.](create|create_new|append|truncate)\(true\)|OFlags::CREATE|\
  rustix::fs::(unlink|rename|mkdir|link|mknod|chmod|fchmod|fchown)
CHANGES_FILES := $(subst | ,|,$(CHANGES_FILES))
FILE_USERS = $$(find crates/*/src -name '*.rs' -not -path 'crates/recording/src/files/*' -not -path '*/notation/*' \
  -not -path '*/casebook/*' -not -path '*/tests/*' -not -name tests.rs -not -name docs.rs)

# The rules that neither compiler nor clippy knows; see CONTRIBUTING.md.
tidy:
	@awk ' \
	  function wrong(what) { print FILENAME ":" FNR ": " what; bad = 1 } \
	  FNR == 801 { wrong("longer than 800 lines") } \
	  FILENAME !~ /\.rs$$/ { next } \
	  FNR == 1 && !/^\/\/!/ { wrong("does not open with //!") } \
	  /#\[ignore/ { wrong("a test that does not run") } \
	  /(todo|unimplemented)!\(/ { wrong("not done") } \
	  END { exit bad }' $(SOURCES)
	@awk ' \
	  FNR == 1 { tests = 0 } \
	  /^#\[cfg\(test\)\]/ { tests = 1 } \
	  !tests && /$(CHANGES_FILES)/ { print FILENAME ":" FNR ": only crates/recording/src/files makes, changes and removes files"; bad = 1 } \
	  END { exit bad }' $(FILE_USERS)
	@folders=$$(find crates -type d \( -name common -o -name shared -o -name 'util*' \) -not -path '*/tests/*'); \
	[ -z "$$folders" ] || { echo "no room is called that: $$folders"; exit 1; }
	@! grep -rnE '(^|[^a-z_])((e?print(ln)?|dbg)!|(stdout|stderr)\(\))' crates/*/src --include='*.rs' \
	  | grep -vE '^crates/timesink/src/out\.rs:|:[0-9]+: *//' | grep . \
	  || { echo "what is printed goes through crates/timesink/src/out.rs"; exit 1; }
	@! grep -n '^timesink-' crates/recording/Cargo.toml crates/trials/Cargo.toml
	@! grep -n '^timesink-capture' crates/analysis/Cargo.toml
	@! grep -n -e '^timesink-analysis' -e '^timesink-findings' crates/capture/Cargo.toml
	@! grep -n '^timesink-capture' crates/findings/Cargo.toml crates/story/Cargo.toml crates/comparison/Cargo.toml
	@! grep -n -e '^timesink-comparison' -e '^timesink-trials' crates/{recording,capture,analysis,findings,story}/Cargo.toml
	@! grep -n '^timesink-trials' crates/comparison/Cargo.toml
	@echo "tidy: ok"

# Relative links in *.md lead somewhere, and README stays short: a test, so that `cargo test` alone tells it too.
pages:
	@$(CARGO) test $(LOCKED) --quiet -p timesink-recording --test pages >/dev/null || \
	  $(CARGO) test $(LOCKED) --quiet -p timesink-recording --test pages
	@echo "pages: ok"

# The statistics of trials are SciPy's. A recording opens in DuckDB and pandas as it is, and as it comes out of a packed file. An export for Perfetto is
# what Perfetto's own messages say. An assistant's client asks of it what commands say. The package for tags is built and installed
# by pip, and does what docs/tags.md says.
VENV := target/venv
PYTHON_PACKAGES := duckdb pandas pyarrow perfetto protobuf scipy mcp
INTEROP := target/interop
interop: $(VENV)/ready demo-build
	@rm -rf $(INTEROP) && mkdir -p $(INTEROP)/unpacked
	head -n 300 $(DEMO)/data.txt > $(INTEROP)/data.txt
	cp $(DEMO)/prices.txt $(INTEROP)/
	cd $(INTEROP) && ../release/timesink run --quiet -o small.timesink -- ../demo/nightly-import data.txt
	$(VENV)/bin/python tests/interop/check_recording.py $(INTEROP)/small.timesink
	$(TIMESINK) pack $(INTEROP)/small.timesink
	tar xf $(INTEROP)/small.timesink.tar -C $(INTEROP)/unpacked
	$(VENV)/bin/python tests/interop/check_recording.py \
	  "$$(dirname "$$(find $(INTEROP)/unpacked -name recording.json)")" >/dev/null
	for format in folded perfetto; do \
	  $(TIMESINK) export $(INTEROP)/small.timesink --to $$format -o $(INTEROP)/export.$$format; \
	done
	$(VENV)/bin/python tests/interop/check_perfetto.py $(INTEROP)/export.perfetto $(INTEROP)/export.folded
	cd $(INTEROP) && ../release/timesink run --quiet -o one-flush.timesink -- ../demo/one-flush data.txt
	$(VENV)/bin/python tests/interop/check_assistant.py $(TIMESINK) $(INTEROP)/small.timesink $(INTEROP)/one-flush.timesink
	$(CARGO) build $(LOCKED) --release -p timesink-trials --examples
	$(VENV)/bin/python tests/interop/check_trials.py target/release/examples/judge
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --force-reinstall ./sdk/python
	$(VENV)/bin/python tests/interop/check_tags.py

# What others wrote, changed in all ways that a generator with a seed comes upon: see tests/fuzz/src/main.rs. Faults are kept in
# target/fuzz. `make fuzz` builds with a counter for each branch, and inputs that take new ones are kept and changed further:
# `make fuzz N=100000 SEED=7` for a night. That build is one more of all crates, so `make test` has its inputs without counters.
N ?= 2000
SEED ?= 1
FORMAT ?=
GUIDED := target/guided
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
COUNTERS := -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
  -Cllvm-args=-sanitizer-coverage-pc-table -Clink-arg=$(CURDIR)/$(GUIDED)/coverage.o
INPUTS = --inputs $(N) --seed $(SEED) $(if $(FORMAT),--format $(FORMAT))
fuzz: need-rust need-test need-root ## Read N=2000 hostile inputs of each format, SEED=1, led by what they reach (as root)
	@mkdir -p $(GUIDED)
	$(CC) -std=gnu17 -O2 -Wall -Wextra -Werror -c -o $(GUIDED)/coverage.o tests/fuzz/src/coverage.c
	RUSTFLAGS="$(COUNTERS)" $(CARGO) build $(LOCKED) --release --target $(HOST) --target-dir $(GUIDED) -p timesink -p timesink-fuzz
	$(GUIDED)/$(HOST)/release/timesink-fuzz $(INPUTS)

fuzz-unguided: need-rust need-test need-root build
	$(CARGO) run $(LOCKED) --release -p timesink-fuzz -- $(INPUTS)

# What exports are made for reads them: speedscope's importer and the Firefox Profiler's, as npm has them. The latter
# wants Node.js 24, which comes along, so this is 200 MB and no part of `make test`.
READERS := target/readers
readers: need-rust need-demo need-root need-readers demo-build ## Read exports with speedscope's importer and the Firefox Profiler's
	@mkdir -p $(READERS)
	npm install --prefix $(READERS) --no-fund --no-audit --loglevel=error \
	  speedscope@1.25.0 @firefox-devtools/profiler-cli@0.10.0 node@24
	cd $(READERS) && rm -rf small.timesink export.* && cp ../demo/data.txt ../demo/prices.txt . && \
	  ../release/timesink run --quiet -o small.timesink -- ../demo/nightly-import data.txt
	for format in folded pprof speedscope firefox; do \
	  $(TIMESINK) export $(READERS)/small.timesink --to $$format -o $(READERS)/export.$$format; \
	done
	$(READERS)/node_modules/.bin/node tests/interop/check_readers.mjs $(READERS)

$(VENV)/ready: Makefile
	python3 -m venv --clear $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check $(PYTHON_PACKAGES)
	@touch $@

# Those that measure no times run two at a time. The others measure what CPUs do, and one that runs beside them would be in it.
SIDE_BY_SIDE := attacks bench elsewhere environment floors follow history install launch refusals rounds symbolize weather
LIVE := $(basename $(notdir $(wildcard tests/live/tests/*.rs))) $(notdir $(patsubst %/main.rs,%,$(wildcard tests/live/tests/*/main.rs)))

# What passed only when it was tried again is said as the suite ends, whether it failed or not.
TRIES := target/live-tries
live: need-root
	@mkdir -p $(dir $(TRIES)) && : > $(TRIES)
	status=0; \
	live() { TIMESINK_TRIES=$(CURDIR)/$(TRIES) $(CARGO) test $(LOCKED) --release --no-fail-fast -p timesink-live "$$@" || status=$$?; }; \
	live $(addprefix --test=,$(SIDE_BY_SIDE)) -- --test-threads=2; \
	live $(addprefix --test=,$(filter-out $(SIDE_BY_SIDE),$(LIVE))) -- --test-threads=1; \
	echo "live tests that needed more than one try: $$(wc -l < $(TRIES))"; sed 's/^/  /' $(TRIES); exit $$status

live-disturbed: need-rust need-test need-root build ## Run the live tests, each once, on processors that are taken away now and then
	$(CARGO) test $(LOCKED) --release --no-run -p timesink-live --tests
	TIMESINK_ATTEMPTS=1 $(CARGO) run $(LOCKED) --release -p timesink-live --example disturb -- \
	  $(CARGO) test $(LOCKED) --release --no-fail-fast -p timesink-live --tests -- --test-threads=1

# Names as in `make test-kernels KERNELS="6.1 newest"`; without, the stable ones, the newest and one between, and one that is too old.
KERNELS ?=
test-kernels: need-rust need-kernels need-root build ## Record on other kernels, booted in an emulator (KERNELS=6.1)
	$(CARGO) run $(LOCKED) --release -p timesink-kernels -- $(KERNELS)

test-kernels-all: need-rust need-kernels need-root build ## The same on every kernel that Debian has, with more repetitions
	$(CARGO) run $(LOCKED) --release -p timesink-kernels -- --nightly $(KERNELS)

casebook: need-rust need-test need-root build ## Run old stories of slow programs: each cause must be told (as root)
	python3 casebook/book.py --check
	$(TIMESINK) casebook verify

book: need-rust need-test need-root build ## The same, and make docs/casebook.md of what came out
	$(TIMESINK) casebook verify --keep casebook/verified.json || true
	python3 casebook/book.py

# ---------------------------------------------------------------- figures

.PHONY: bench
bench: need-rust need-bench need-root build ## Measure what recording costs, beside other recorders (ROUNDS=16)
	$(CARGO) run $(LOCKED) --release -p timesink-analysis --example speed
	python3 bench/overhead.py --rounds $(ROUNDS)
	$(CARGO) build $(LOCKED) --release -p timesink-capture --example names
	python3 bench/stacks.py
	python3 bench/whatif.py

# Programs from registries, slow and fixed. Open pairs are there to work with. Sealed ones are run by nothing else, and
# nobody looks at what is told of one while rules are written: bench/pairs/README.md.
.PHONY: pairs pairs-sealed pairs-repeat gallery
pairs: need-rust need-pairs need-root build ## Record the open pairs: programs from registries, slow and fixed (PAIRS="NAME ...")
	python3 bench/pairs.py open $(PAIRS)

pairs-sealed: need-rust need-pairs need-root build ## Record the sealed pairs, three times each, and make docs/pairs.md
	python3 bench/pairs.py sealed --times 3 --write docs/pairs.md

pairs-repeat: need-rust need-pairs need-root build ## Record twenty open pairs five times each and make docs/repeated.md: is the first finding the same?
	python3 bench/pairs.py repeat --write docs/repeated.md

gallery: need-rust need-pairs need-root build ## Record everyday commands and make docs/gallery.md of the answers
	python3 bench/gallery.py --write docs/gallery.md
