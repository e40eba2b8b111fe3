# `make demo` and `make test` do all their own set-up: a new machine needs only Python 3.11+ and make.
PYTHON ?= python3
BIN := .venv/bin
# Compiled modules are kept whatever the surroundings say: many processes start, here and in the tests.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test units test-slow test-faults lint format docs pages bench bench-peers clean

# What distaff itself needs; tools for its development come with .venv/ready.
.venv/demo-ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "distaff needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

.venv/ready: .venv/demo-ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

lint: .venv/ready
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy

format: .venv/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Types take one core for a minute, in which some tests only wait: both at once.
test: .venv/ready
	$(MAKE) --no-print-directory --jobs=2 lint units

units: .venv/ready
	$(BIN)/pytest -n 2 --dist worksteal

# The documentation, into site/; any warning stops it (not with --quiet, which hides warnings from --strict too),
# and it needs no network.
docs: .venv/ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# What pages say of results and of the zoo, from docs/results and src/distaff/zoo/models.
pages: .venv/ready
	$(BIN)/python docs/hooks/results.py

test-slow: .venv/ready
	$(BIN)/pytest -m slow

# Kills, wrong command lines and damaged files by the hundred, minutes to an hour; seeds are printed.
test-faults: .venv/ready
	$(BIN)/pytest -m faults tests/faults tests/explore

# Speed as ratios taken in one run; nothing else should run meanwhile.
bench: .venv/ready
	$(BIN)/python -m benchmarks.training
	$(BIN)/python -m benchmarks.two_runs
	$(BIN)/python -m benchmarks.infogan
	$(BIN)/python -m benchmarks.objectives
	$(BIN)/python -m benchmarks.data
	$(BIN)/python -m benchmarks.metrics
	$(BIN)/python -m benchmarks.wide
	$(BIN)/python -m benchmarks.information --full
	$(BIN)/python -m benchmarks.studies

# The same against pythae, in a virtual environment of its own; then scores by the minute, two hours of one core, which
# are written as they are found: the same command resumes.
bench-peers:
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch==2.13.0 -e . pythae==0.1.2
	.venv-peers/bin/python -m benchmarks.peers
	.venv-peers/bin/python -m benchmarks.score_by_minute

# A model of the zoo is on the screen while the demo trains one. Ctrl-C keeps the run, and the same command resumes it.
demo: .venv/demo-ready
	@$(BIN)/distaff explore & page=$$!; trap "kill $$page 2>/dev/null" EXIT; \
	$(BIN)/distaff train factor_vae --preset quick --data dsprites --seed 0 --out runs/demo \
	&& $(BIN)/distaff evaluate runs/demo \
	&& $(BIN)/distaff report runs/demo

clean:
	rm -rf .venv .venv-peers site .mypy_cache .ruff_cache .pytest_cache
