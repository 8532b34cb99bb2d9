# `make help` lists the targets. The first call creates a virtual environment in
# .venv; later calls only update it.

PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?= -n 2 --dist loadfile
# Every day has seeds of its own, of which there are fewer than 10000.
SEED_OFFSET ?= $(shell expr $$(date +%s) / 86400 \* 10000)
BENCH_ARGS ?=
SECONDS ?= 60
FIRST ?= 0

PY := $(VENV)/bin/python
PIP = $(PY) -m pip --disable-pip-version-check --retries 10 --timeout 60
CORE := $(shell find src/dics/core -type f)
COMMA := ,
# Paths whose spelling and terms are checked.
PROSE := src tests benchmarks examples paper tools docs $(wildcard *.md)

# Stamps. They are in the environment, so that they are removed with it.
S_VENV := $(VENV)/.stamp-venv
S_BASE := $(VENV)/.stamp-base
S_DEV := $(VENV)/.stamp-dev
S_PEERS := $(VENV)/.stamp-peers
S_DOCS := $(VENV)/.stamp-docs
S_BUILD := $(VENV)/.stamp-build
S_PAPER := $(VENV)/.stamp-paper

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help build dev demo docs docs-serve test test-all lint terms format pytest pytest-all sanitize tsan failures fuzz fuzz-native bench wheel clean distclean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' \
	    $(firstword $(MAKEFILE_LIST))

# --- environment -----------------------------------------------------------

$(S_VENV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "dics needs Python 3.11 or newer, but '$(PYTHON)' is" \
	        "$$($(PYTHON) --version 2>/dev/null || echo missing)." \
	        "Choose another one: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# $(call pip_install,group...): install groups of requirements, with up to three
# attempts if the network fails.
define pip_install
$(PY) tools/requirements.py $(1) > $@.txt
@for try in 1 2 3; do \
    $(PIP) install --quiet -r $@.txt && exit 0; \
    echo "pip failed (attempt $$try of 3)" >&2; sleep $$((5 * try)); \
done; exit 1
@touch $@
endef

$(S_BASE): pyproject.toml paper/pyproject.toml tools/requirements.py $(S_VENV)
	$(call pip_install,build run paper:build paper:run)

$(S_DEV): $(S_BASE)
	$(call pip_install,build run dev)

$(S_PEERS): $(S_BASE)
	$(call pip_install,build run paper:peers)

$(S_DOCS): $(S_BASE)
	$(call pip_install,build run dask docs)

# Python files are used directly from src/; only the core has to be rebuilt. The build
# folder is kept, so that a rebuild compiles only the changed files. The stub is copied
# to the Python sources for the type checker.
$(S_BUILD): $(S_BASE) pyproject.toml CMakeLists.txt $(CORE)
	$(PIP) install --quiet --no-build-isolation --no-deps \
	    --config-settings='build-dir=build/{wheel_tag}' --editable .
	@$(PY) -c 'import pathlib, shutil; from dics import _core; shutil.copyfile(pathlib.Path(_core.__file__).with_name("_core.pyi"), "src/dics/_core.pyi")'
	@touch $@

$(S_PAPER): $(S_BASE) paper/pyproject.toml | $(S_BUILD)
	$(PIP) install --quiet --no-build-isolation --no-deps --editable paper
	@touch $@

build: $(S_BUILD) $(S_PAPER)  ## create .venv and build both packages in it (editable)

dev: $(S_BUILD) $(S_PAPER) $(S_DEV) $(S_PEERS)  ## build, and install the development tools

# --- use -------------------------------------------------------------------

demo: $(S_BUILD) $(S_PAPER)  ## run the demonstration, and plot a figure of the paper
	$(PY) examples/demo.py
	$(VENV)/bin/dics-paper figure illustration --scale smoke --out build/demo

bench: $(S_BUILD) $(S_PAPER) $(S_PEERS)  ## run a benchmark (BENCH_ARGS="tree"), or list them
	$(PY) benchmarks/run.py $(BENCH_ARGS)

docs: $(S_BUILD) $(S_PAPER) $(S_DOCS)  ## build the documentation in build/docs
	$(PY) -m sphinx -W --keep-going -q -b html -d build/doctrees docs build/docs

docs-serve: docs  ## build the documentation, and serve it at http://127.0.0.1:8000
	$(PY) -m http.server --bind 127.0.0.1 --directory build/docs 8000

# --- checks ----------------------------------------------------------------

test: lint pytest  ## linters, type checker, quick tests (PYTEST_ARGS="...")

test-all: lint pytest-all  ## the same with the slow tests (SEED_OFFSET=...)

lint: $(S_BUILD) $(S_DEV) terms  ## linters and type checker only
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(VENV)/bin/clang-format --dry-run -Werror $(filter %.cpp %.hpp %.h,$(CORE))
	$(PY) -m mypy
	$(PY) tools/docstrings.py

terms: $(S_DEV)  ## spelling and the terms of the project only
	$(VENV)/bin/codespell $(PROSE)
	$(PY) tools/terms.py $(PROSE)

# Each of the two processes has one thread, unless a test sets n_jobs. With two threads
# each, the tests need twice the CPU time on two cores (measured on 2026-11-18).
pytest: $(S_BUILD) $(S_PAPER) $(S_DEV) $(S_PEERS)  ## quick tests only
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(PY) -m pytest -m "not slow" $(PYTEST_ARGS)

pytest-all: $(S_BUILD) $(S_PAPER) $(S_DEV) $(S_PEERS)  ## all tests only
	$(PY) -m pytest --seed-offset $(SEED_OFFSET) $(PYTEST_ARGS)

format: $(S_DEV)  ## format the sources
	$(PY) -m ruff check --fix-only .
	$(PY) -m ruff format .
	$(VENV)/bin/clang-format -i $(filter %.cpp %.hpp %.h,$(CORE))

# The sanitized package is installed in a separate folder. Python runs with -S because
# the import hook of the editable installation has priority over PYTHONPATH. The C++
# library is preloaded too, because otherwise the sanitizer cannot follow exceptions.
# pytest must not capture file descriptor 2, because otherwise a crash loses the report.
# $(call sanitized,sanitizers,folder,libraries,arguments of Python)
define sanitized
$(PIP) install --quiet --no-build-isolation --no-deps --upgrade \
    --target $(2)/site \
    --config-settings=build-dir=$(2)/cmake \
    --config-settings=cmake.build-type=Debug \
    --config-settings=cmake.define.DICS_SANITIZE=$(1) .
site=$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("platlib"))'); \
export PYTHONPATH="$(CURDIR)/$(2)/site:$$site"; \
export PYTHONMALLOC=malloc OPENBLAS_NUM_THREADS=1; \
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1; \
export TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1"; \
preload=$$(for lib in $(3) stdc++; do \
    g++ -print-file-name=lib$$lib.so; done | tr '\n' ' '); \
LD_PRELOAD="$$preload" $(PY) -S -c 'import sys; from dics import _core; sys.exit("$(2)/site" not in _core.__file__)' && \
LD_PRELOAD="$$preload" $(PY) -S $(4)
endef

sanitize: $(S_DEV)  ## run the tests of the core under ASan and UBSan (Linux, g++)
	$(call sanitized,address$(COMMA)undefined,build/sanitize,asan ubsan,-m pytest tests -m core --capture=sys)

tsan: $(S_DEV)  ## fit and predict in several threads under TSan (Linux, g++)
	$(call sanitized,thread,build/tsan,tsan,tools/races.py)

failures: $(S_BUILD) $(S_DEV)  ## inject memory and thread failures (Linux, g++; SECONDS=600)
	$(PY) tools/failures.py --seconds $(SECONDS) --first $(FIRST)

fuzz: $(S_BUILD) $(S_DEV)  ## random fits and corrupted models (SECONDS=600)
	$(PY) tools/fuzz.py --seconds $(SECONDS) --first $(FIRST)

fuzz-native: $(S_BUILD) $(S_DEV)  ## coverage-guided fuzzing of trees in the core (Linux, clang)
	$(PY) tools/fuzz_native.py --seconds $(SECONDS)
	$(PY) tools/fuzz_native.py --coverage

wheel: $(S_VENV)  ## build wheels of both packages in dist/
	$(PIP) wheel --no-deps --wheel-dir dist . ./paper

# --- cleaning --------------------------------------------------------------

clean:  ## remove all builds, keep .venv
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -f $(S_BUILD) $(S_PAPER) src/dics/_core.pyi
	find src tests paper benchmarks docs examples tools -name __pycache__ -prune -exec rm -rf {} +

distclean: clean  ## remove also .venv
	rm -rf $(VENV)
