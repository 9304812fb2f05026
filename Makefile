PYTHON ?= python3
BIN := .venv/bin
# Files that make leaves in .venv once it is there with: what tailwave needs; the tools to develop
# it; the tools for its pages.
CORE := .venv/.core
DEV := .venv/.dev
DOCS := .venv/.docs
# The interpreter's own pip installs into .venv from outside, and leaves files uncompiled: to make a
# pip in there, and to compile packages of which little is run, each takes longer than the demo.
INSTALL := $(PYTHON) -m pip --python $(BIN)/python install --quiet --no-compile --editable
BENCHMARKS := benchmarks/read_kineto.py benchmarks/read_nsys.py benchmarks/linear_cost.py \
	benchmarks/replay_speed.py benchmarks/replay_accuracy.py

# Where it is set, each of the hundreds of interpreters that the tests start compiles all anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint docs schemas bench

help: ## list these targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST)

setup: $(DEV) ## make .venv with tailwave and its development tools

$(CORE): pyproject.toml
	$(PYTHON) -m venv --without-pip .venv
	$(INSTALL) .
	@touch $@

$(DEV): $(CORE)
	$(INSTALL) '.[dev]'
	@touch $@

$(DOCS): $(CORE)
	$(INSTALL) '.[docs]'
	@touch $@

demo: $(CORE) ## diagnose a shipped recording of an H200
	$(BIN)/tailwave diagnose examples/recordings/decode_small.eager.json.gz

test: $(DEV) ## run the tests that need no GPU, side by side
	$(BIN)/pytest --numprocesses auto --maxprocesses 8 --dist worksteal

lint: $(DEV) ## check style, format, types and dead code
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/vulture

docs: $(DOCS) ## build the documentation site in site/
	$(BIN)/mkdocs build --quiet --strict

schemas: $(CORE) ## renew the kept schemas of the JSON documents
	$(BIN)/python -m tailwave.reports.schemas

bench: $(DEV) ## run the benchmarks, all of them whatever misses its goal
	@missed=; for script in $(BENCHMARKS); do \
		echo "== $$script"; $(BIN)/python $$script || missed="$$missed $$script"; \
	done; test -z "$$missed" || { echo "missed:$$missed"; exit 1; }
