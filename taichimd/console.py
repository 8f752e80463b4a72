"""The terminal of a command, and what becomes of a run whose terminal is gone: it goes on."""

import os
import sys

from rich.console import Console as RichConsole


class Console(RichConsole):
    """Prints as long as somebody reads."""

    def on_broken_pipe(self) -> None:
        """Print no more; rich itself would end the program, without a checkpoint."""
        self.quiet = True
        # What is left in the buffer is written when the process ends.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
