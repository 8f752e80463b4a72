"""Fixtures that several test files share, and how kernels are compiled in tests."""

import os

import pytest

# Most of the suite's time is compilation. Bits are the same without it (`test_engine` compares).
os.environ.setdefault("TAICHIMD_QUICK_COMPILE", "1")


@pytest.fixture
def call(capsys):
    """Run a command line of taichimd in this process: exit code, standard output, standard error."""
    from taichimd.cli.app import main

    def run(line):
        with pytest.raises(SystemExit) as caught:
            main(line.split())
        captured = capsys.readouterr()
        return caught.value.code, captured.out, captured.err

    return run
