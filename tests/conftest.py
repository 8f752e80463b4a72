"""Fixtures that several test files share."""

import pytest


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
