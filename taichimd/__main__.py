"""The program, `taichimd` or `python -m taichimd`: Ctrl-C ends it with one line and exit code 130."""

import sys
from collections.abc import Sequence

from taichimd.core.signals import interrupted, keep_interrupts


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ends in `SystemExit`.

    Args:
        arguments: without the program's name; None takes those of the process.
    """
    with keep_interrupts():
        try:
            from taichimd.cli.app import main as run

            run(arguments)
        except (Exception, KeyboardInterrupt):
            if not interrupted():
                raise
            print("error: interrupted", file=sys.stderr)
            sys.exit(130)


if __name__ == "__main__":
    main()
