# Set-up, trial, tests and checks. Needs GNU make, pip and Python >= 3.11; everything goes into .venv here.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := .venv/bin
STAMP := .venv/.installed
RUN ?=
TESTS ?=
PEERS ?=
MINIWOB ?=

.PHONY: help setup trial test check bench peers miniwob soak lock clean

help:  ## This list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP)  ## Make .venv from requirements.lock, find or install Chrome, fetch the driver agent-browser with npm
	@$(BIN)/axtrial setup --driver agent-browser || { \
		code=$$?; [ $$code -eq 1 ] || exit $$code; \
		$(BIN)/axtrial setup; \
		echo 'make: no agent-browser: its arms are reported as not run, and a run with one ends with exit code 1' >&2; \
	}

trial: setup  ## Set up and run the default trial; RUN="--repeats 1" adds options of `axtrial run`
	@$(BIN)/axtrial run $(RUN)

test: setup  ## Set up and run the tests; TESTS="tests/harness -k name" picks some
	@$(BIN)/python -m pytest -q -n logical --maxprocesses 4 --dist worksteal $(TESTS)

check: $(STAMP)  ## Format, lint, types, import borders, sizes of files and functions
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python tests/tail_check.py

bench: setup  ## Benchmarks, one after the other
	@$(BIN)/python -m pytest -q -p no:randomly -o addopts="--strict-markers --strict-config --import-mode=importlib -p no:cacheprovider" \
		tests/benchmarks --benchmark-only

peers: setup  ## Install comparable tools for a while and measure them beside us; PEERS="--pages 20,form" adds options
	@$(BIN)/python -m tests.benchmarks.peers $(PEERS)

miniwob: setup  ## Install BrowserGym for a while and play MiniWoB beside it; MINIWOB="--rounds 1" adds options
	@$(BIN)/python -m tests.benchmarks.miniwob $(MINIWOB)

soak: setup  ## Tests that take minutes
	@$(BIN)/python -m pytest -q -m soak -o timeout=1800 $(TESTS)

lock:  ## How requirements.lock is made
	@echo 'requirements.lock holds every version and hash of the dependencies and of the group "dev", for all platforms'
	@echo 'and Python >= 3.11, without download addresses. It is made with uv, which nothing else here needs:'
	@echo '  uv pip compile --universal --generate-hashes --no-annotate --no-header --no-emit-index-url \'
	@echo '    --python-version 3.11 --group dev pyproject.toml -o requirements.lock'

clean:  ## Remove .venv, caches and builds; runs/ stays
	@rm -rf .venv dist .mypy_cache .ruff_cache .hypothesis .benchmarks .import_linter_cache .grimp_cache .pytest_cache
	@find . -path ./.git -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +

$(STAMP): requirements.lock pyproject.toml
	@python=; \
	for name in $${PYTHON:-python3.13 python3.12 python3.11 python3}; do \
		if "$$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
			python=$$name; break; \
		fi; \
	done; \
	if [ -z "$$python" ]; then \
		echo 'make: no Python >= 3.11 with venv and pip was found; on Debian: apt-get install python3 python3-venv' >&2; \
		exit 1; \
	fi; \
	echo "making .venv with $$("$$python" --version) from requirements.lock"; \
	"$$python" -m venv --clear .venv
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
