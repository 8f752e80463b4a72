# Two commands for a fresh checkout: `make demo` and `make test`. Everything goes into .venv.
# Another Python: make demo PYTHON=python3.12

PYTHON ?=
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# The part of the suite that runs a second time, on the other runtime.
QUADRANTS_TESTS ?= tests

.PHONY: demo test test-long test-quadrants runtimes lint types clean

demo: $(VENV)/.installed
	@$(BIN)/taichimd demo

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal -m "not long"

test-long: runtimes
	TAICHIMD_RUNTIME=quadrants TAICHIMD_QUICK_COMPILE=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal -m long

test-quadrants: $(VENV)/.installed-test $(VENV)/.installed-quadrants
	TAICHIMD_RUNTIME=quadrants TAICHIMD_QUICK_COMPILE=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal -m "not long" $(QUADRANTS_TESTS)

runtimes: $(VENV)/.installed-test $(VENV)/.installed-quadrants

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/.installed-dev
	$(BIN)/mypy

clean:
	rm -rf $(VENV) demo-output build dist .pytest_cache .ruff_cache .mypy_cache

# Each stamp says that an installation succeeded; it is repeated only when pyproject.toml has changed.
$(BIN)/python:
	@sh .ci/make-venv "$(VENV)" "$(PYTHON)"

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo "installing taichimd and what it needs into $(VENV) (once, about a minute) ..."
	@$(PIP) install --editable .
	@touch $@

$(VENV)/.installed-%: pyproject.toml | $(VENV)/.installed
	@echo "installing the extra [$*] ..."
	@$(PIP) install --editable ".[$*]"
	@touch $@
