# make demo   the five stories, headless      make test    everything that must pass (make thorough: on more programs)
# make lab    JupyterLab on the tutorials     make bench   costs, as ratios
#
# Each target first makes .venv by itself; a stamp file in .venv/.stamps marks each finished step,
# so the second time costs nothing. Use another Python with: make test PYTHON=/path/to/python

PYTHON ?= python3

# Two packages are installed on their own (see below); their versions stand with the other pins.
TORCH := $(shell grep '^torch==' constraints.txt)
LLMS  := $(shell grep '^llms-from-scratch==' constraints.txt)

STAMPS  := .venv/.stamps
FRONT   := labextension
MODULES := $(FRONT)/node_modules/.package-lock.json
STATIC  := autograd_inspector/static
LAB     := autograd_inspector/labextension
SOURCES := $(shell find $(FRONT)/src -name '*.ts' -o -name '*.css')
NATIVE := $(wildcard autograd_inspector/capture/native/*.[ch]) scripts/native_hook.py
BIN    := .venv/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --no-input install --quiet

# The stories build tiny random models from configs: an attempt to reach a hub is a mistake, found at once.
OFFLINE := HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false

# Tests run in as many processes as there are cores: threads of torch would only wait for each other. Hundreds of them
# import the package: what is compiled is kept, also where the environment says that Python is to keep nothing.
TESTING := $(OFFLINE) OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=

.DEFAULT_GOAL := help
.PHONY: help setup widget panel demo lab tutorials docs test thorough check compat fuzz mutate bench wheel lint format clean distclean

help:
	@echo "make demo       run the five stories and write their reports to reports/"
	@echo "make lab        start JupyterLab on notebooks/"
	@echo "make tutorials  run the tutorials and save them with their outputs"
	@echo "make docs       build the site in build/docs/html, offline"
	@echo "make test       ruff, mypy, tsc, biome and the tests, with a share of the programs of large corpora"
	@echo "make thorough   the same with all of these programs"
	@echo "make check      ruff, mypy and the tests of what was changed, in a minute"
	@echo "make compat     the core tests on the other Pythons and torches that can be had, as a table"
	@echo "make fuzz       100,000 random programs, and 5,000 rewritten tests, against the oracles of tests/fuzz"
	@echo "make mutate     faults planted into training programs: which of them a report names, and where"
	@echo "make bench      what observing costs, beside other tools"
	@echo "make wheel      wheel and sdist in dist/, checked"
	@echo "make lint       ruff, mypy, tsc and biome only"
	@echo "make format     let ruff and biome rewrite what they can"
	@echo "make widget     only build the widget (Node.js 20 or newer)"
	@echo "make panel      only build the JupyterLab extension, and bring it into .venv"
	@echo "make setup      only make .venv, the widget and the JupyterLab extension"
	@echo "make clean      remove caches, builds and reports"
	@echo "make distclean  remove .venv as well"

# --- the environment ---------------------------------------------------------------------------------

setup: $(STAMPS)/package $(STAMPS)/graphviz widget panel

$(STAMPS)/venv:
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
		echo "error: $(PYTHON) not found; Python 3.11 or newer is needed (make PYTHON=/path/to/python)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "error: Python 3.11 or newer is needed, $(PYTHON) is $$($(PYTHON) -V 2>&1) (make PYTHON=/path/to/python)" >&2; exit 1; }
	@echo "[1/5] creating .venv with $$($(PYTHON) -V 2>&1)"
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv .venv || { \
		echo "error: could not create .venv (Debian and Ubuntu: apt-get install python3-venv)" >&2; exit 1; }
	@mkdir -p $(STAMPS) && touch $@

# torch goes first and alone: as a dependency of the others pip might choose another build of it.
$(STAMPS)/torch: $(STAMPS)/venv constraints.txt
	@echo "[2/5] installing $(TORCH)"
	@$(PIP) $(TORCH)
	@touch $@

# llms-from-scratch asks for TensorFlow and an old NumPy; its model files need only torch.
# The front end is built before: its files are then there when pip looks for them.
# What records in C is compiled with it, where there is a compiler.
$(STAMPS)/package: $(STAMPS)/torch pyproject.toml constraints.txt $(NATIVE) | $(STATIC)/widget.js $(LAB)/static/style.js
	@echo "[4/5] installing autograd_inspector with the extras test, stories and lab (a few minutes the first time)"
	@$(PIP) -c constraints.txt -e '.[test,stories,lab]'
	@$(PIP) --no-deps --ignore-requires-python $(LLMS)
	@touch $@

widget: $(STATIC)/widget.js

panel: $(STAMPS)/labextension

# A copy of the build: were it a link, pip would delete the build itself when it installs the package again.
$(STAMPS)/labextension: $(LAB)/static/style.js $(STAMPS)/package install.json
	@rm -rf .venv/share/jupyter/labextensions/autograd-inspector
	@mkdir -p .venv/share/jupyter/labextensions
	@cp -R $(LAB) .venv/share/jupyter/labextensions/autograd-inspector
	@cp install.json .venv/share/jupyter/labextensions/autograd-inspector/
	@touch $@

$(MODULES): $(FRONT)/package.json $(FRONT)/package-lock.json
	@command -v npm >/dev/null 2>&1 || { \
		echo "error: npm not found; building the front end needs Node.js 20 or newer (an installed wheel does not)" >&2; exit 1; }
	@echo "[3/5] installing what builds the front end"
	@cd $(FRONT) && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

$(STATIC)/widget.js: $(MODULES) $(FRONT)/build.mjs $(SOURCES)
	@cd $(FRONT) && npm run --silent build:widget

$(LAB)/static/style.js: $(MODULES) $(FRONT)/tsconfig.lib.json $(SOURCES) $(wildcard $(FRONT)/style/* $(FRONT)/schema/*)
	@cd $(FRONT) && npm run --silent build:lib && npm run --silent build:lab
	@touch $@

$(STAMPS)/graphviz: $(STAMPS)/package
	@echo "[5/5] looking for graphviz's dot"
	@bash scripts/install-graphviz.sh
	@touch $@

$(STAMPS)/browser: $(STAMPS)/package
	@echo "[test] looking for a browser"
	@bash scripts/install-browser.sh
	@touch $@

$(STAMPS)/bench: $(STAMPS)/package pyproject.toml constraints.txt
	@echo "[bench] installing torchview, torchlens and torchvista to compare with"
	@$(PIP) -c constraints.txt -e '.[bench]'
	@touch $@

$(STAMPS)/docs: $(STAMPS)/package pyproject.toml constraints.txt
	@echo "[docs] installing sphinx, furo and myst-nb"
	@$(PIP) -c constraints.txt -e '.[docs]'
	@touch $@

# --- the work ----------------------------------------------------------------------------------------

demo: setup
	@$(OFFLINE) $(BIN)/python -m tests.stories

# Jupyter refuses to run as root, the usual user in a container, unless told.
lab: setup
	@$(BIN)/python -m jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks

# Run after a change that a report shows: the saved outputs are what people read without running anything.
tutorials: setup
	@$(OFFLINE) $(BIN)/python scripts/save_tutorials.py

docs: setup $(STAMPS)/docs
	@$(OFFLINE) $(BIN)/python -m scripts.docs

# What exists of the front end is shipped as it is: `make clean` first for a release.
wheel: setup
	@echo "[wheel 1/2] hatchling build"
	@$(BIN)/python -m hatchling build -d dist -t wheel -t sdist
	@echo "[wheel 2/2] twine check, check-wheel-contents"
	@$(BIN)/python -m twine check --strict dist/autograd_inspector-*
	@$(BIN)/check-wheel-contents dist/autograd_inspector-*.whl

compat: setup
	@$(OFFLINE) $(BIN)/python scripts/compat.py

lint: setup
	@echo "[lint 1/3] ruff check"
	@$(BIN)/python -m ruff check .
	@echo "[lint 2/3] ruff format --check"
	@$(BIN)/python -m ruff format --check .
	@echo "[lint 3/3] tsc and biome, and beside them mypy, whose outcome is shown at the end"
	@bash scripts/beside.sh $(BIN)/python -m mypy -- sh -c 'cd $(FRONT) && npm run --silent check && npm run --silent lint'

# One process a core, few enough for their memory. A file stays in one process: its tests share what is slow to make, a kernel or a server.
# Files are taken in their order, which tests/conftest.py sets; xdist's own puts those of few, but long, tests last.
SPREAD := -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

# The browser's tests have a run of their own: Playwright keeps an event loop open, which others may not meet. They
# wait more than they compute, so that the others run beside them; the closing line of those is the last.
test: lint docs $(STAMPS)/browser
	@echo "[test 1/3] vitest"
	@cd $(FRONT) && npm run --silent test
	@echo "[test 2/3] the tutorials, each run from the top"
	@$(TESTING) $(BIN)/python -m pytest -p nbval --nbval-lax --nbval-sanitize-with=tests/notebooks/sanitize.cfg notebooks -p no:cacheprovider -p tests.notebooks.forks $(SPREAD)
	@echo "[test 3/3] pytest, and beside it a real JupyterLab in a real browser, whose outcome is shown at the end"
	@$(TESTING) bash scripts/beside.sh $(BIN)/python -m pytest -m ui tests/ui -- $(BIN)/python -m pytest -m "not ui" $(SPREAD)

# tests/shares.py reads it.
thorough: export WHOLE := 1
thorough: test

# While working: seconds instead of minutes.
check: setup
	@$(TESTING) $(BIN)/python scripts/check.py

fuzz: setup
	@$(OFFLINE) $(BIN)/python -m tests.fuzz --count 100000

mutate: setup
	@$(OFFLINE) $(BIN)/python -m tests.mutation

bench: setup $(STAMPS)/bench
	@$(OFFLINE) $(BIN)/python -m tests.benchmarks

format: setup
	@$(BIN)/python -m ruff check --fix .
	@$(BIN)/python -m ruff format .
	@cd $(FRONT) && npm run --silent format

clean:
	rm -rf $(STATIC) $(LAB) $(FRONT)/lib build dist reports .pytest_cache .mypy_cache .ruff_cache .hypothesis htmlcov .coverage
	find . \( -name .venv -o -name .git -o -name node_modules \) -prune -o -type d -name __pycache__ -print0 | xargs -0 rm -rf

distclean: clean
	rm -rf .venv $(FRONT)/node_modules
