"""A child process as a stopwatch: it holds one system of one program and does as many steps as it is told.

A process of its own, so that threads of two programs never share one, kept alive, so that the programs can be
timed in turn. Protocol: one line of JSON when ready; then for each line "N" on its input, the seconds that N
steps took.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from validation import common


class Stopwatch:
    """The parent's handle on one child.

    Args:
        module: run as `python -m`; its last act is `serve`.
        arguments: of its command line.
        environment: variables besides those of this process.

    Raises:
        RuntimeError: the child ended before it answered.

    Attributes:
        ready: what the child said about itself.
    """

    def __init__(self, module: str, arguments: Sequence[str], **environment: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments], env={**os.environ, **environment},
            cwd=common.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.ready: dict[str, Any] = json.loads(self._read("{"))

    def seconds(self, n_steps: int) -> float:
        """Do so many steps and return how long they took."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{n_steps}\n")
        self._process.stdin.flush()
        return float(self._read("0123456789"))

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)

    def _read(self, first: str) -> str:
        """The next line that begins with one of these characters; a runtime prints other lines."""
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if line[0] in first:
                return line
        raise RuntimeError(f"the process ended with {self._process.wait()} before it answered")


def serve(run: Callable[[int], Any], **ready: Any) -> None:
    """Be the child: do the steps of each line of the input, and say how long they took."""
    print(json.dumps(ready), flush=True)
    for line in sys.stdin:
        began = time.perf_counter()
        run(int(line))
        print(time.perf_counter() - began, flush=True)
