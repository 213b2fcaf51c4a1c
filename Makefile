# Every target is a short list of commands that can also be typed by hand.

# CARGO_TARGET_DIR moves the build to another folder; bloomline.so is always written here.
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
LIBRARY := $(TARGET_DIR)/release/libbloomline.so

WASM := wasm32-unknown-unknown

# Those of manylinux_2_28: scripts/cargo-for.sh builds for the glibc of that name.
WHEEL_TARGETS := x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu

PORT ?= 6379
SERVER ?=
# The target of `make fuzz`. S=, a number of seconds, has its own default in each rule.
T ?= decode

# The feature audit is a debug allocator that records every allocation of a test.
CARGO_TEST := cargo test --locked --workspace --features audit

# Read by the tests and benches of all languages.
export BLOOMLINE_SO ?= $(CURDIR)/bloomline.so
export BLOOMLINE_SERVERS ?= $(CURDIR)/.servers
# Computed for each target, because one before it may have installed Rust.
export PATH = $(shell scripts/rust-path.sh)
export PORT SERVER DESTDIR PREFIX MODULEDIR DOCDIR DIST

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help rust build install deb wheel dist run lint
.PHONY: test test-again test-all test-rest test-audit test-clients test-calculator test-platforms
.PHONY: test-python
.PHONY: bench bench-beside publish-bench bench-latency bench-python
.PHONY: plan wasm calculator soak fuzz deep servers clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

# Rust, and what it links with.
rust:
	@scripts/deps.sh plan

build: rust ## Build the module, bloomline.so; installs what the build needs
	@scripts/deps.sh build
	@[ -e $(LIBRARY) ] || echo "make: compiling takes a few minutes the first time;" \
		"half of them pass at the last crate, bloomline"
	cargo build --release --locked
# Renames the file into its place: a server may have the old file mapped.
	@cmp -s $(LIBRARY) bloomline.so || \
		{ cp $(LIBRARY) bloomline.so.new && mv -f bloomline.so.new bloomline.so; }

# Does not depend on build: root installs, and may not have Rust.
install: ## Install the module: DESTDIR=, PREFIX=/usr, MODULEDIR=PREFIX/lib/redis/modules
	@scripts/install.sh

deb: build ## Build the package for Debian and Ubuntu in dist/
	@scripts/deb.sh

wheel: rust ## Build the wheels of the Python package in dist/: TARGETS=x86_64-unknown-linux-gnu
	@scripts/deps.sh build $(or $(TARGETS),$(WHEEL_TARGETS))
	@scripts/wheel.sh $(or $(TARGETS),$(WHEEL_TARGETS))

dist: rust ## Build all files of a release for all platforms, with SHA256SUMS, in dist/
	@scripts/dist.sh

run: build ## Start a server with the module: PORT=6379, SERVER=name, command or path
	@scripts/deps.sh run
	@scripts/run.sh

test: rust ## Run the quick tests, on three servers; lists what it did not run
	@scripts/deps.sh build
	@scripts/test.sh quick

test-again: rust ## Run the server tests of `make test` again and again: N=10, LOAD=2 busy loops
	@scripts/deps.sh build
	@scripts/test.sh again $(or $(N),10) $(or $(LOAD),0)

test-all: test test-rest ## Run all tests, on all servers and with all client libraries

# What `make test` does not run.
test-rest: build servers
	@scripts/test.sh rest
	@$(MAKE) --no-print-directory test-clients

test-audit: servers ## Run the server tests with a debug allocator in the module: SERVER=
	@scripts/audit.sh $(or $(SERVER),redis-8.2)

test-clients: build servers ## Run the tests of client libraries and of the examples
	@scripts/deps.sh clients
	@scripts/venv.sh "" redis-5 redisbloom valkey crawlee
# The examples use the package.
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps ./python
	@scripts/node.sh
	@scripts/hiredis.sh
	$(CARGO_TEST) --test clients
	.venv/bin/pytest -q tests/clients --ignore tests/clients/test_redisbloom_py.py \
		--ignore tests/clients/test_calculator.py
	.venv-redis-5/bin/python -m pytest -q tests/clients/test_redis_py*.py
	BLOOMLINE_LIBRARY=valkey .venv-valkey/bin/python -m pytest -q \
		tests/clients/test_redis_py*.py
	.venv-redisbloom/bin/python -m pytest -q -W ignore::DeprecationWarning \
		tests/clients/test_redisbloom_py.py
	@$(MAKE) --no-print-directory test-python
	@$(MAKE) --no-print-directory test-calculator

# Tests wheels that are installed in new virtual environments, and no sources.
test-python: build servers ## Build and test the wheels of the Python package
	@scripts/deps.sh clients
	cargo build --locked -p bloomline-tools --bin plan
	@BLOOMLINE_PLAN=$(TARGET_DIR)/debug/plan scripts/test-python.sh

test-calculator: build servers ## Run the tests of the page docs/calculator in Chromium
	@scripts/deps.sh browser
	@scripts/venv.sh browser
	cargo build --locked -p bloomline-tools --bin plan
	.venv-browser/bin/python -m pytest -q tests/clients/test_calculator.py

test-platforms: ## Run tests on arm64 under qemu and with musl; what only compiles: ARGS="arm64"
	@scripts/platforms.sh $(ARGS)

lint: rust ## Check the formatting, the code, the docs and the scripts
	@scripts/deps.sh build lint
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps
	@scripts/venv.sh python-lint
	.venv-python-lint/bin/ruff format --check python
	.venv-python-lint/bin/ruff check python
	cd python && ../.venv-python-lint/bin/mypy
	shellcheck scripts/*.sh packaging/*.sh .ci/run
	@scripts/venv.sh lint
	.venv-lint/bin/hadolint Dockerfile
	.venv-lint/bin/check-jsonschema --quiet --builtin-schema vendor.compose-spec \
		packaging/compose.yaml
	.venv-lint/bin/kubernetes-validate --quiet --strict packaging/kubernetes.yaml

bench: HUGE = $(findstring --huge,$(ARGS))
bench: build servers ## Measure, write dist/benchmarks.md: ARGS=--full, --huge; PEER=/other.so
	cargo build --release --locked --example baseline
	cargo build --release --locked --lib --features scalar --target-dir $(TARGET_DIR)/scalar
	@mkdir -p dist
	cargo bench --locked --bench server -- --json dist/benchmarks.json $(ARGS)
# Large filters have a table of their own, in docs/reference/memory.md.
	@python3 benches/published/$(if $(HUGE),huge,publish).py dist/benchmarks.json $(if $(HUGE),,dist)

bench-beside: build servers ## Measure beside the module of a commit: BASE=main~10, ARGS="--rounds 9"
	cargo build --release --locked --example baseline
	@scripts/bench-beside.sh $(or $(BASE),HEAD) $(ARGS)

publish-bench: ## Write the published run into docs/benchmarks.md, README.md and their charts
	@python3 benches/published/publish.py

bench-latency: build servers ## Measure how long a call blocks, publish it: ARGS="--sizes 1g,10g"
	cargo bench --locked --bench server -- --latency --json dist/latency.json $(ARGS)
	@python3 benches/published/latency.py dist/latency.json

soak: build servers ## Load two servers for S=3600 seconds each, check answers, report latencies
	BLOOMLINE_SOAK_SECONDS=$(or $(S),3600) $(CARGO_TEST) --test server soak:: -- \
		--nocapture --test-threads 1

bench-python: build servers ## Measure the Python package beside calls packed by hand, publish it
	@scripts/deps.sh clients
	@scripts/bench-python.sh

plan: rust ## Compute the size of a filter: ARGS="--items 1e6 --error 0.001"
# Not optimised: this compiles in seconds, and the program takes milliseconds.
	@cargo run --quiet --locked -p bloomline-tools --bin plan -- $(ARGS)

wasm: rust ## Build the calculator for browsers, dist/calculator.wasm, and print its bytes
	@scripts/deps.sh wasm
	cargo build --locked --lib --profile wasm --target $(WASM) -p bloomline-calculator
	@install -D -m 644 $(TARGET_DIR)/$(WASM)/wasm/bloomline_calculator.wasm dist/calculator.wasm
	@wc -c dist/calculator.wasm

# The page cannot fetch a file where it is opened without a server, so the WebAssembly is text in a
# script. It is checked in: the page works from a clone. Its bytes depend on the release of Rust, so
# tests/wasm compares its numbers with those of the sources, and not the bytes.
calculator: wasm ## Write the core of the page docs/calculator from the sources
	@{ echo '// The core as WebAssembly: `make calculator` writes this file.'; \
		echo '"use strict";'; echo; echo 'const CORE = `'; \
		base64 -w 96 dist/calculator.wasm; echo '`;'; } >docs/calculator/core.js
	@wc -c docs/calculator/core.js

fuzz: ## Fuzz the core for S=60 seconds: T=decode, model, values, valkey
	@scripts/fuzz.sh $(T) $(or $(S),60)

deep: build servers ## Fuzz all for S=60 seconds, sanitizer, valgrind, Miri; lists skipped checks
	@scripts/deps.sh deep miri
	@scripts/deep.sh $(or $(S),60)

servers: ## Fetch the servers of the tests into .servers/, once
	@scripts/servers.sh

clean: ## Remove what was built; keeps what was fetched (.servers, .venv)
	cargo clean
	rm -rf bloomline.so bloomline.so.new .run dist
