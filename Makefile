# Front door of the project; `make help` lists what it can do.
PYTHON ?= python3
BUDGET ?= 2m
OUT ?= campaign-$(shell date +%Y%m%d-%H%M%S)

VENV := .venv
BIN := $(VENV)/bin
MEMCOV := tzerlike/_memcov/libmemcov.so
MEMCOV_SOURCES := $(wildcard memcov/*.cc memcov/*.h memcov/*.ld memcov/*.py memcov/Makefile)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help setup fuzz test test-long test-gpu lint bench clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/ready $(MEMCOV) ## Make .venv with pinned dependencies and compile memcov

fuzz: setup ## Run a two-minute campaign (BUDGET=30m OUT=dir to change that)
	$(BIN)/tzerlike fuzz --budget $(BUDGET) --out $(OUT)

test: setup $(VENV)/ready-dev ## Run the tests
	@$(MAKE) --no-print-directory -C memcov fixture
	$(BIN)/python -m pytest -m "not long" --numprocesses logical --dist loadfile --no-loadscope-reorder

test-long: setup $(VENV)/ready-dev ## Run the tests that take too long for every change
	@$(MAKE) --no-print-directory -C memcov fixture
	$(BIN)/python -m pytest -m long --numprocesses logical

test-gpu: setup $(VENV)/ready-dev ## Run the tests that need a GPU, and no others
	$(BIN)/python -m pytest -m gpu -rs

lint: setup $(VENV)/ready-dev ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup ## Measure speed, where time goes, what coverage costs, and what mutators give, by processor time
	$(BIN)/python scripts/bench.py
	$(BIN)/python scripts/bench_mutators.py
	$(BIN)/python scripts/graph_evaluation.py --models 1000

clean: ## Remove what was made here, campaigns excepted
	rm -rf $(VENV) tzerlike/_memcov build

$(VENV)/ready: constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "make setup: Python 3.11 or newer is needed; name one with PYTHON=..."; exit 2; }
	@$(PYTHON) -m venv $(VENV) \
		|| { echo "make setup: the venv module is missing; apt-get install python3-venv"; exit 2; }
	@echo "installing pinned dependencies ..."
	@$(PIP) install -c constraints.txt -e . apache-tvm-ffi
	@touch $@

$(VENV)/ready-dev: $(VENV)/ready
	@$(PIP) install -c constraints.txt -e '.[dev,cuda]'
	@touch $@

$(MEMCOV): $(MEMCOV_SOURCES)
	@command -v $(CXX) >/dev/null || { echo "make setup: a C++ compiler is missing; apt-get install g++"; exit 2; }
	@$(MAKE) --no-print-directory -C memcov
