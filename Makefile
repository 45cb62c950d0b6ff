# turnwire: `make demo` and `make test` set up all they need. `make help` lists the rest.
# Another interpreter: make test PYTHON=python3.13 (it gets a virtual environment of its own).
# No compiler: TURNWIRE_PURE=1 make test

PYTHON ?= python3.11 python3 python3.12 python3.13 python3.14
INTERPRETER := $(shell sh .ci/find-python $(PYTHON))
ifeq ($(INTERPRETER),)
$(error turnwire needs Python 3.11 or newer, and "$(PYTHON)" is not that. Try: make PYTHON=/path/to/python3)
endif
TAG := $(shell $(INTERPRETER) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
VENV ?= $(if $(filter file,$(origin PYTHON)),.venv,.venv-$(TAG))
PY := $(VENV)/bin/python
# Modules are compiled when they are first imported: most of those in the packages never are.
PIP := $(PY) -m pip install --quiet --disable-pip-version-check --no-compile
# uv installs what an environment requires in a fifth of the time, where an index is not set for pip alone, within the
# constraints that are set for pip. pip does what it cannot.
UV := .venv/bin/uv
FILL = test -x $(UV) && $(UV) pip install --quiet --python $(PY) $$(cat $(VENV)/.constraints 2>/dev/null)

PURE := $(filter-out 0,$(TURNWIRE_PURE))
NATIVE := build/.native-$(TAG)
ifneq ($(PURE),)
NATIVE :=
endif
SOURCES := setup.py $(wildcard _native/*/*.pyx _native/*/*.px[di] _native/*/*.h)
STUBBED = $(subst /,.,$(patsubst src/%.pyi,%,$(wildcard src/turnwire/_native/*/*.pyi)))
TESTED := tests

# Compiled modules are kept, whatever the surroundings say: the tests start hundreds of interpreters.
export PYTHONDONTWRITEBYTECODE :=

ifeq ($(filter suite-%,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif
.DEFAULT_GOAL := help
.PHONY: help setup build demo test lint typecheck gate golden bench fuzz soak sanitize mutate dist site constraints clean

help: ## list what can be made
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
	@echo "  PYTHON=python3.13 takes another interpreter, TURNWIRE_PURE=1 leaves the compiled core out,"
	@echo "  TESTED=tests/nslip runs a part of the tests, ARGS='-k name -x' is passed on to what runs."

# ---- setting up: a stamp file for each step, so that the second run is quick

$(VENV)/.base: pyproject.toml
	@echo "setting up $(VENV) with $(INTERPRETER) (Python $(TAG))"
	@$(if $(filter .venv,$(VENV)),,test -x $(UV) && $(UV) venv --quiet --seed --allow-existing --python $(INTERPRETER) $(VENV) 2>/dev/null ||) \
	    $(INTERPRETER) -m venv $(VENV) || { echo 'No virtual environment could be made. On Debian or Ubuntu: apt install python3-venv python3-dev' >&2; exit 1; }
	@$(if $(PURE),,$(PY) _build/turnwire_build.py)
	@$(PY) -m pip config list >$(VENV)/.pip-config; \
	sed -n "s/^[^=]*\.constraint='\(.*\)'/--constraint \1/p" $(VENV)/.pip-config >$(VENV)/.constraints
	@[ -x $(UV) ] || [ $(VENV) != .venv ] || grep -q '^[^=]*\.index-url=' $(VENV)/.pip-config || $(PIP) 'uv>=0.5' 2>/dev/null || true
	@$(FILL) 'setuptools>=80' $(if $(PURE),,'Cython>=3.2') 2>/dev/null || \
	    $(PIP) 'setuptools>=80' $(if $(PURE),,'Cython>=3.2')
	@touch $@

$(VENV)/.extra-%: $(VENV)/.base
	@echo "installing turnwire[$*] into $(VENV)"
	@export TURNWIRE_SKIP_NATIVE=1; \
	$(FILL) --no-build-isolation --editable '.[$*]' 2>/dev/null || $(PIP) --no-build-isolation --editable '.[$*]'
	@touch $@

build/.native-$(TAG): $(SOURCES) $(VENV)/.base
	@$(PY) _build/turnwire_build.py
	@$(PY) -c 'import Cython' 2>/dev/null || $(PIP) 'Cython>=3.2' # set up before with TURNWIRE_PURE=1
	@echo "compiling the native core"
	@TURNWIRE_REQUIRE_NATIVE=1 $(PY) setup.py --quiet build_ext --inplace
	@touch $@

ifeq ($(LOCKED),)
setup: $(VENV)/.extra-test ## make the virtual environment; LOCKED=1: of what constraints.txt names alone, by its hashes
else
# What an environment has under the constraints needs no other setting up.
setup:
	@test -x $(PY) || $(INTERPRETER) -m venv $(VENV)
	@echo "installing constraints.txt into $(VENV)"
	@$(PY) .ci/locked; code=$$?; \
	if [ $$code = 4 ] && [ -n "$(FALLBACK)" ]; then \
	    echo "FALLBACK: installing what the bounds of pyproject.toml allow, not what constraints.txt names"; \
	    exec $(MAKE) --no-print-directory LOCKED= setup $(addprefix $(VENV)/.extra-,lint sql fuzz); \
	fi; \
	[ $$code = 0 ] || exit $$code; \
	TURNWIRE_SKIP_NATIVE=1 $(PIP) --no-index --no-build-isolation --editable '.[lint,fuzz]' && \
	touch $(VENV)/.base && touch $(addprefix $(VENV)/.extra-,test lint sql codecs bench fuzz)
endif

build: $(VENV)/.base $(NATIVE) ## compile the native core in place

demo: $(VENV)/.extra-sql $(NATIVE) ## read real nSLIP traffic, and query it with SQL
	@$(PY) examples/demo.py

# ---- checking

# The suite is four processes side by side: the pure half, and the native one in three parts that take about as long; with
# TURNWIRE_PURE=1 these parts run on the pure core, and are all. They are more than there are cores, since tests wait for
# processes and servers. A part may have no test where TESTED names a folder: pytest then ends with 5.
SUITES := pure $(if $(filter tests,$(TESTED)),log above rest,native)
ifneq ($(TURNWIRE_PURE),)
SUITES := $(filter-out pure,$(SUITES))
endif
CORE := $(if $(PURE),1,0)
PART-pure := $(TESTED) -m "not once and not packaging and not soak"
PART-native := $(TESTED)
PART-log := tests/log tests/read tests/convert tests/csp
PART-above := $(addprefix tests/,cli distributed fuzz ledger packaging prompts report sap session tokens)
PART-rest := tests $(addprefix --ignore=,$(PART-log) $(PART-above))
RUN = $(PY) -m pytest -p no:cacheprovider $(ARGS)

test: $(VENV)/.extra-test $(NATIVE) ## run the whole suite, on the native core and again in pure Python
	@sh .ci/browser
	@$(MAKE) --no-print-directory -k -j $(words $(SUITES)) $(if $(filter output-sync,$(.FEATURES)),-O) $(addprefix suite-,$(SUITES))

suite-%:
	@TURNWIRE_PURE=$(if $(filter pure,$*),1 TURNWIRE_PURE_HALF=1,$(CORE)) $(RUN) $(PART-$*) $(if $(filter native,$*),,|| [ $$? -eq 5 ])

soak: $(VENV)/.extra-test $(NATIVE) ## run the property tests for long: make soak TESTED=tests/nslip EXAMPLES=200000
	HYPOTHESIS_PROFILE=soak SOAK_EXAMPLES=$(or $(EXAMPLES),20000) $(RUN) $(TESTED) -m "not packaging"

build/.sanitized-$(TAG): $(SOURCES) $(VENV)/.base
	@echo "compiling the native core with address and undefined-behaviour checks"
	@TURNWIRE_QUICK=1 TURNWIRE_SANITIZE=address,undefined TURNWIRE_REQUIRE_NATIVE=1 $(PY) setup.py --quiet build_ext --build-lib build/sanitize/site
	@touch $@

sanitize: $(VENV)/.extra-$(or $(EXTRA),test) build/.sanitized-$(TAG) ## run the suite on a core built with address and undefined-behaviour checks
	@tar -C src --exclude='*.so' --exclude=__pycache__ -cf - turnwire | tar -C build/sanitize/site -xf -
	LD_PRELOAD="$$(cc -print-file-name=libasan.so) $$(cc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc \
	    PYTHONPATH=build/sanitize/site TURNWIRE_PURE=0 $(RUN) $(TESTED)

T ?= 60
ifeq ($(INSTRUMENT),)
fuzz: $(VENV)/.extra-fuzz build/.native-$(TAG) ## fuzz both cores against each other: T=60 TARGET=scan; INSTRUMENT=1: by coverage of C
	@$(PY) -m tests.fuzz $(T) $(TARGET)
else
# A core that says what it reaches, with address and undefined-behaviour checks, in a tree of its own.
CLANG ?= clang-14
INSTRUMENTED := build/instrumented
build/.instrumented-$(TAG): $(SOURCES) $(VENV)/.extra-fuzz
	@.ci/tool $(CLANG) $(CLANG) libclang-rt-14-dev
	@echo "compiling the native core with checks"
	@CC=$(CLANG) LDSHARED='$(CLANG) -shared' TURNWIRE_SANITIZE=fuzzer-no-link,address,undefined TURNWIRE_REQUIRE_NATIVE=1 \
	    $(PY) setup.py --quiet build_ext --build-lib $(INSTRUMENTED)
	@touch $@

fuzz: build/.instrumented-$(TAG)
	@tar -C src --exclude='*.so' --exclude=__pycache__ -cf - turnwire | tar -C $(INSTRUMENTED) -xf -
	@LD_PRELOAD="$$($(PY) -c 'import atheris; print(atheris.path())')/asan_with_fuzzer.so" PYTHONMALLOC=malloc \
	    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 PYTHONPATH=$(INSTRUMENTED):. TURNWIRE_FUZZ=native \
	    $(PY) -m tests.fuzz $(T) $(TARGET)
endif

mutate: $(VENV)/.extra-mutate build/.native-$(TAG) ## change codecs and rules with mutmut: make mutate ARGS='turnwire.csp.lints*'
	$(PY) -m mutmut run $(ARGS)

lint: $(VENV)/.extra-lint ## ruff: rules and format; import-linter: who may import whom
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	@! grep -rnE '("""|/\* )(What|Whether|Where)\b' --include='*.py' --include='*.p[xy][xid]' --include='*.h' src tests benchmarks _native _build packaging examples setup.py
	PYTHONPATH=src $(VENV)/bin/lint-imports --no-cache --no-logo

typecheck: $(VENV)/.extra-lint build/.native-$(TAG) ## mypy --strict, and the stubs against the compiled modules
	$(PY) -m mypy
	$(PY) .ci/stubtest --mypy-config-file .ci/stubtest.ini $(STUBBED)

# ---- measuring

gate: $(VENV)/.extra-test build/.native-$(TAG) ## count instructions of each wire and scan with valgrind; fails 3 % above the baseline
	@.ci/tool valgrind valgrind libc6-dbg
	@$(PY) benchmarks/gate.py $(ARGS)

golden: $(VENV)/.extra-test $(NATIVE) ## compare what is found in 50,000 generated logs with what was kept; ARGS='--show 17' shows one
	PYTHONPATH=src $(PY) -m tests.golden $(ARGS)

bench: $(VENV)/.extra-bench $(NATIVE) ## pytest-benchmark; `python benchmarks/tables.py` prints the tables of the pages
	$(PY) -m pytest benchmarks --benchmark-only -o addopts= $(ARGS)

# ---- releasing

dist: $(VENV)/.extra-test ## build the sdist, and the wheel from that sdist
	@rm -rf dist
	TURNWIRE_REQUIRE_NATIVE=1 $(PY) -m build $(if $(wildcard $(VENV)/bin/uv),--installer uv) --outdir dist .
	@ls -l dist

# An environment of its own: what builds the site has nothing to do with turnwire's requirements.
.venv-site/.done: docs/requirements.txt
	@echo "installing what builds the site"
	@$(INTERPRETER) -m venv .venv-site
	@.venv-site/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -r docs/requirements.txt
	@touch $@

# Not --quiet: what is not logged is not a warning, and would not end the build.
site: .venv-site/.done ## build the site from docs/ into build/site; a warning or a dead link is an error
	@mkdir -p build
	@NO_MKDOCS_2_WARNING=1 .venv-site/bin/python -m mkdocs build >build/site.log 2>&1 || { grep -v '^INFO' build/site.log; exit 1; }
	@echo "build/site/index.html"

constraints: $(VENV)/.base ## write constraints.txt anew: the files that the checks need, with hashes
	@$(PIP) 'uv>=0.5'
	$(PY) .ci/constraints > constraints.new
	mv constraints.new constraints.txt

clean: ## remove all that was built; the virtual environments (.venv*) stay
	rm -rf build dist mutants wheelhouse .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks src/*.egg-info
	find src/turnwire/_native -name '*.so' -delete -o -name '*.pyd' -delete
	find . -name '.venv*' -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
