"""The program, `taichimd` or `python -m taichimd`: whatever stops it, the end is one line and a code."""

import sys
from collections.abc import Sequence

from taichimd.core import started
from taichimd.core.signals import end_of, interrupted, keep_interrupts
from taichimd.core.terminal import Streams

_FAILED = 2
_LEAST_MEMORY = 1.9e9
"""Bytes of addresses that libraries and runtime take before there is an atom; with less, some abort."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ends in `SystemExit`.

    Args:
        arguments: without the program's name; None takes those of the process.
    """
    started.program = arguments is None
    streams = Streams()
    code = _code_of(arguments)
    if why := streams.lost():
        _say(f"standard output cannot be written ({why}): what it had to show is lost")
        code = code or _FAILED
    sys.exit(code)


def _code_of(arguments: Sequence[str] | None) -> int:
    """Exit code of a command line."""
    with keep_interrupts():
        try:
            if limit := _limit_on_memory():
                return _say(
                    f"the limit on virtual memory (ulimit -v) is {limit / 1e9:.2g} GB, and taichimd needs "
                    f"{_LEAST_MEMORY / 1e9:.2g} GB to start; raise the limit, or limit resident memory"
                )
            from taichimd.cli.app import main as run

            run(arguments)
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else 0
        except (Exception, KeyboardInterrupt) as error:
            if interrupted():
                return _say(*end_of(interrupted()))
            if not isinstance(error, MemoryError):
                raise
            return _say(f"out of memory ({error or 'a list of Python'}); use fewer atoms, or raise the limit")
    return 0


def _limit_on_memory() -> float:
    """The limit on bytes of addresses if it is too low to start; else 0."""
    try:
        import resource
    except ImportError:  # not on Windows
        return 0.0
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return limit if 0 <= limit < _LEAST_MEMORY and limit != resource.RLIM_INFINITY else 0.0


def _say(message: str, code: int = _FAILED) -> int:
    """Print an error; the exit code."""
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
