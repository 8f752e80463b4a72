"""A function that runs in another process, beside this one."""

import os
import pickle
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from taichimd.core.errors import BackendError, SettingsError
from taichimd.core.processes import same_python

LONGEST = 3600
"""Seconds after which a process is ended."""
CHILD = "from taichimd.validation.elsewhere import child; child({folder!r})"
_CALL, _RESULT, _PRINTED = "call.pickle", "result.pickle", "printed.txt"


class Elsewhere:
    """A function that has been started in another process.

    Args:
        function: of a module.
        arguments: of the function, by name.
        environment: variables of the process besides those of this one.

    Raises:
        SettingsError: arguments that cannot be pickled.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: Mapping[str, Any],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        try:
            call = pickle.dumps((function, dict(arguments)))
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise SettingsError(f"cannot be taken to another process: {error}") from error
        self._folder = Path(tempfile.mkdtemp(prefix="taichimd-validate-"))
        (self._folder / _CALL).write_bytes(call)
        with (self._folder / _PRINTED).open("wb") as printed:
            self._process = subprocess.Popen(
                same_python(CHILD.format(folder=str(self._folder))),
                env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL, stdout=printed,
                stderr=subprocess.STDOUT,
            )  # fmt: skip
        # Also at the end of this process: nobody would wait for the other one.
        self._end = weakref.finalize(self, _end, self._process, self._folder)

    def end(self) -> None:
        """End the process, and remove its files."""
        self._end()

    def result(self) -> Any:
        """Wait for the function; what it returned.

        Raises:
            BackendError: the process failed; the message has the last line that it printed.
        """
        try:
            code = self._process.wait(LONGEST)
            if code:
                lines = (self._folder / _PRINTED).read_text(errors="replace").strip().splitlines()[-1:]
                raise BackendError(f"the process ended with {code}: {' '.join(lines)}")
            return pickle.loads((self._folder / _RESULT).read_bytes())
        except subprocess.TimeoutExpired as error:
            raise BackendError(f"a process did not end within {LONGEST} s") from error
        finally:
            self._end()


def _end(process: "subprocess.Popen[bytes]", folder: Path) -> None:
    if process.poll() is None:
        process.kill()
        process.wait()
    shutil.rmtree(folder, ignore_errors=True)


def child(folder: str) -> None:
    """Call what an `Elsewhere` has left in a folder, and leave there what it returned."""
    function, arguments = pickle.loads((Path(folder) / _CALL).read_bytes())
    found = function(**arguments)
    (Path(folder) / _RESULT).write_bytes(pickle.dumps(found))
