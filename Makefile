# `make demo` and `make test` do all their own set-up: a new machine needs only Python 3.11+ and make.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-slow lint format bench bench-peers clean

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "distaff needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

lint: .venv/ready
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy

format: .venv/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: lint
	$(BIN)/pytest -n 2

test-slow: .venv/ready
	$(BIN)/pytest -m slow

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache
