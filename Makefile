# Shortcuts only: every target is a few commands that can as well be typed by hand.

# Cargo's own variable moves the build elsewhere; bloomline.so appears here all the same.
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
LIBRARY := $(TARGET_DIR)/release/libbloomline.so

PORT ?= 6379
SERVER ?=
# What is fuzzed; S=, for how many seconds, is each target's own.
T ?= decode

# The tests run with a debug allocator of their own: a ledger of every block of memory.
CARGO_TEST := cargo test --locked --features audit

# What the tests and benches of every language read.
export BLOOMLINE_SO ?= $(CURDIR)/bloomline.so
export BLOOMLINE_SERVERS ?= $(CURDIR)/.servers
export PORT SERVER DESTDIR PREFIX MODULEDIR DOCDIR DIST

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help build install deb dist run test test-audit test-clients lint bench bench-blocking bench-dedup plan soak fuzz deep servers clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

build: ## Build the module, bloomline.so, installing what the build needs
	@scripts/deps.sh build
	cargo build --release --locked
# Renamed into place, never written over: a server may have the old file mapped.
	@cmp -s $(LIBRARY) bloomline.so || { cp $(LIBRARY) bloomline.so.new && mv -f bloomline.so.new bloomline.so; }

# Not after build: root, who installs, need not have Rust.
install: ## Install the built module: DESTDIR=, PREFIX=/usr, MODULEDIR=PREFIX/lib/redis/modules
	@scripts/install.sh

deb: build ## Pack the module for Debian and Ubuntu, into dist/
	@scripts/deb.sh

dist: deb ## Pack all that a release has, with SHA256SUMS, into dist/
	@scripts/archive.sh
	@scripts/sums.sh

run: build ## Start a server with the module: PORT=6379, SERVER=valkey-8.0 (a name, command or path) to choose
	@scripts/deps.sh run
	@scripts/run.sh

test: build servers ## Run all tests: unit, property, doc, real servers, client libraries
	$(CARGO_TEST)
# Each bench once, in small: that they still work, not how fast anything is.
	$(CARGO_TEST) --bench core --bench server
	@$(MAKE) --no-print-directory test-audit test-clients

test-audit: servers ## Run the server tests with a debug allocator in the module, on one server with its bundled allocator
	@scripts/audit.sh $(or $(SERVER),redis-8.0-bundled)

test-clients: build servers ## Run the tests of client libraries and of the examples, on real servers
	@scripts/venv.sh "" redis-5 redisbloom
	@scripts/node.sh
	$(CARGO_TEST) --test clients
	.venv/bin/python -m pytest -q tests/clients --ignore tests/clients/test_redisbloom_py.py
	.venv-redis-5/bin/python -m pytest -q tests/clients/test_redis_py.py tests/clients/test_redis_py_asyncio.py
	.venv-redisbloom/bin/python -m pytest -q -W ignore::DeprecationWarning tests/clients/test_redisbloom_py.py

lint: ## Check formatting, clippy, the docs and the scripts
	@scripts/deps.sh build lint
	cargo fmt --all --check
	cargo clippy --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps
	shellcheck scripts/*.sh packaging/*.sh .ci/run
	@scripts/venv.sh lint
	.venv-lint/bin/hadolint Dockerfile

bench: build servers ## Measure on real servers, write docs/benchmarks.md: ARGS=--full for all of it, PEER=/path/to/other.so to compare
	cargo build --release --locked --example floor
	cargo build --release --locked --lib --features scalar --target-dir $(TARGET_DIR)/scalar
	cargo bench --locked --bench server -- --markdown docs/benchmarks.md $(ARGS)

bench-blocking: build servers ## Measure how long each command can block the server, write the table into docs/operations.md: ARGS="--sizes 1g,10g"
	cargo bench --locked --bench server -- --blocking --markdown docs/operations.md $(ARGS)

soak: build servers ## Load two servers fully for S=3600 seconds each, check all answers, tell latencies
	BLOOMLINE_SOAK_SECONDS=$(or $(S),3600) $(CARGO_TEST) --test server soak:: -- --nocapture --test-threads 1

bench-dedup: build servers ## Measure a crawl's dedup by sets, bits and filters, draw docs/dedup.svg: ARGS="--items 1000000"
	@scripts/venv.sh
	.venv/bin/python benches/dedup/dedup.py --chart docs/dedup.svg $(ARGS)

plan: ## Tell what a filter will take: ARGS="--items 1e6 --error 0.001"
	@scripts/deps.sh build
	@cargo run --quiet --locked --profile test --example plan -- $(ARGS)

fuzz: build servers ## Fuzz for S=60 seconds: T=decode or model (the core), resp or dump (real servers)
	@scripts/fuzz.sh $(T) $(or $(S),60)

deep: build servers ## Fuzz all for S seconds each, sanitizer, valgrind, Miri; what can't run is said
	@scripts/deps.sh deep
	@scripts/deep.sh $(or $(S),60)

servers: ## Fetch the servers of the tests into .servers, once
	@scripts/servers.sh

clean: ## Remove what was built; .servers and .venv, which were fetched, stay
	cargo clean
	rm -rf bloomline.so bloomline.so.new .run dist
