# Shortcuts only: every target is a few commands that can as well be typed by hand.

# Cargo's own variable moves the build elsewhere; bloomline.so appears here all the same.
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
LIBRARY := $(TARGET_DIR)/release/libbloomline.so

PORT ?= 6379
SERVER ?=

# Fuzzing: which target, for how many seconds.
T ?= decode
S ?= 60

# What the tests and benches of every language read.
export BLOOMLINE_SO ?= $(CURDIR)/bloomline.so
export BLOOMLINE_SERVERS ?= $(CURDIR)/.servers
export PORT SERVER

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help build run test lint bench fuzz deep servers clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

build: ## Build the module, bloomline.so, installing what the build needs
	@scripts/deps.sh build
	cargo build --release --locked
# Renamed into place, never written over: a server may have the old file mapped.
	@cmp -s $(LIBRARY) bloomline.so || { cp $(LIBRARY) bloomline.so.new && mv -f bloomline.so.new bloomline.so; }

run: build ## Start a server with the module: PORT=6379, SERVER=valkey-8.0 (a name, command or path) to choose
	@scripts/deps.sh run
	@scripts/run.sh

test: build servers ## Run all tests: unit, property, doc, real servers, client libraries
	@scripts/venv.sh
	cargo test --locked
	.venv/bin/python -m pytest -q tests/clients

lint: ## Check formatting, clippy, the docs and the scripts
	@scripts/deps.sh build lint
	cargo fmt --check
	cargo clippy --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps
	shellcheck scripts/*.sh .ci/run

bench: build servers ## Measure on real servers: ARGS=--quick, PEER=/path/to/other.so to compare
	cargo build --release --locked --example floor
	cargo bench --locked --bench server -- $(ARGS)

fuzz: build servers ## Fuzz for S=60 seconds: T=decode or model (the core), resp or dump (real servers)
	@scripts/fuzz.sh $(T) $(S)

deep: build servers ## Fuzz all for S seconds each, sanitizer, valgrind, Miri; what can't run is said
	@scripts/deps.sh deep
	@scripts/deep.sh $(S)

servers: ## Fetch the servers of the tests into .servers, once
	@scripts/servers.sh

clean: ## Remove what was built; .servers and .venv, which were fetched, stay
	cargo clean
	rm -rf bloomline.so bloomline.so.new .run
