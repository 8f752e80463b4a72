# Two commands for a fresh checkout: `make demo` and `make test`. Everything goes into .venv.
# Another Python: make demo PYTHON=python3.12

PYTHON ?=
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Tests run under the runtime that compiles faster, where it can be installed (tests/conftest.py).
# They keep what Python compiles, for their own processes and for the next command.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest --numprocesses auto --dist worksteal

.PHONY: demo test test-long test-taichi mutations lint types wheel docs docs-links clean

demo: $(VENV)/.installed
	@$(BIN)/taichimd demo

# Every test but those marked long.
test: $(VENV)/.installed-test
	$(PYTEST) -m "not long"

test-long: $(VENV)/.installed-test
	$(PYTEST) -m long

# Under the other runtime, the tests that do not say that once is enough.
test-taichi: $(VENV)/.installed-test
	TAICHIMD_RUNTIME=taichi $(PYTEST) -m "not long and not once"

# Single mistakes in a copy of the tree: would the tests notice? About an hour on two cores.
mutations: $(VENV)/.installed-test
	$(BIN)/python -m validation.mutations

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/.installed-dev
	$(BIN)/mypy

# What would be published, installed into an environment that has nothing else.
wheel: $(VENV)/.installed-dev
	sh .ci/try-distributions $(BIN)/python

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

# Each stamp says that an installation succeeded; it is repeated only when pyproject.toml has changed.
$(BIN)/python:
	@sh .ci/make-venv "$(VENV)" "$(PYTHON)"

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo "installing taichimd and what it needs into $(VENV) (once, about a minute) ..."
	@$(PIP) install --editable ".[quadrants]" || { \
		echo "quadrants cannot be installed here: taichimd takes Taichi, which is slower"; \
		$(PIP) install --editable .; }
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(VENV)/.installed
	@echo "installing the extras [test,quadrants] ..."
	@$(PIP) install --editable ".[test,quadrants]" || { \
		echo "quadrants cannot be installed here: tests run under Taichi, which compiles slower"; \
		$(PIP) install --editable ".[test]"; }
	@touch $@

$(VENV)/.installed-%: pyproject.toml | $(VENV)/.installed
	@echo "installing the extra [$*] ..."
	@$(PIP) install --editable ".[$*]"
	@touch $@
