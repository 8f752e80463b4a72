# Two commands for a fresh checkout: `make demo` and `make test`. Everything goes into .venv.
# Another Python: make demo PYTHON=python3.12

PYTHON ?=
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Python compiles and keeps the modules that it imports: pip would compile 10,000, of which few are imported.
export PIP_COMPILE := 0
unexport PYTHONDONTWRITEBYTECODE
# Tests run under the runtime that compiles faster, where it can be installed (tests/conftest.py).
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist worksteal

.PHONY: demo install test test-long test-exhaustive test-all test-taichi mutations lint types wheel docs docs-links clean

demo: $(VENV)/.installed
	@$(BIN)/taichimd demo

# All that the commands below need, at once: each installation builds taichimd in an environment of its own.
install: EXTRAS = test,dev,docs
install: pyproject.toml | $(BIN)/python
	$(INSTALL)

# What each change should pass.
test: $(VENV)/.installed-test
	$(PYTEST) -m "not long and not exhaustive"

test-long: $(VENV)/.installed-test
	$(PYTEST) -m "long and not exhaustive"

# Both: tests are collected once, and long ones find the kernels of their neighbours in memory.
test-all: $(VENV)/.installed-test
	$(PYTEST) -m "not exhaustive"

# Before a release: other combinations of what test-all has tested one by one.
test-exhaustive: $(VENV)/.installed-test
	$(PYTEST) -m exhaustive

# Under the other runtime, the tests in which the two differ.
test-taichi: $(VENV)/.installed-test
	TAICHIMD_RUNTIME=taichi $(PYTEST) -m "both and not long and not exhaustive" \
		$$(grep -rl --include="test_*.py" "mark\.both" tests)

# Single mistakes in a copy of the tree: would the tests notice? About an hour on two cores.
mutations: $(VENV)/.installed-test
	$(BIN)/python -m validation.mutations

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/.installed-dev
	$(BIN)/mypy

# What would be published, installed into an environment that has nothing else. It needs nothing of .venv.
wheel:
	@sh .ci/try-distributions "$(PYTHON)"

# The documentation as a site, build/site/index.html; a warning is an error.
docs: $(VENV)/.installed-docs
	$(BIN)/python docs/stage.py
	$(BIN)/python -m sphinx -q -W --keep-going -c docs build/site-source build/site
	@echo "open build/site/index.html"

# Are the links to other sites alive? Needs the network.
docs-links: $(VENV)/.installed-docs
	$(BIN)/python docs/stage.py
	$(BIN)/python -m sphinx -q -b linkcheck -c docs build/site-source build/links

clean:
	rm -rf $(VENV) demo-output build dist .pytest_cache .ruff_cache .mypy_cache

comma := ,
# Install taichimd with the extras of EXTRAS. Each stamp says that an installation succeeded; it is repeated only
# when pyproject.toml has changed.
define INSTALL
@echo "installing taichimd, the extras [$(EXTRAS)] and what they need into $(VENV) ..."
@$(PIP) install --editable ".[$(EXTRAS),quadrants]" || { \
	echo "quadrants cannot be installed here: taichimd takes Taichi, which is slower"; \
	$(PIP) install --editable ".[$(EXTRAS)]"; }
@touch $(VENV)/.installed $(addprefix $(VENV)/.installed-,$(subst $(comma), ,$(EXTRAS)))
endef

$(BIN)/python:
	@sh .ci/make-venv "$(VENV)" "$(PYTHON)"

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo "installing taichimd and what it needs into $(VENV) (once, about a minute) ..."
	@$(PIP) install --editable ".[quadrants]" || { \
		echo "quadrants cannot be installed here: taichimd takes Taichi, which is slower"; \
		$(PIP) install --editable .; }
	@touch $@

$(VENV)/.installed-%: EXTRAS = $*
$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(INSTALL)
