PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
BENCHMARKS := benchmarks/read_kineto.py benchmarks/read_nsys.py benchmarks/replay_speed.py benchmarks/replay_accuracy.py

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint bench

help: ## list these targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv with tailwave and its development tools

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@

demo: setup ## diagnose a shipped recording of an H200
	$(BIN)/tailwave diagnose examples/recordings/decode_small.eager.json.gz

test: setup ## run the tests that need no GPU
	$(BIN)/pytest

lint: setup ## check style, format and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: setup ## run the benchmarks
	@for script in $(BENCHMARKS); do echo "== $$script"; $(BIN)/python $$script || exit 1; done
