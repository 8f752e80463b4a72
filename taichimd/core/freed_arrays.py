"""Arrays of a GPU that Python gives back in any thread.

Python's collector runs in whichever thread allocates, for example in the one that writes frames. The runtimes
give memory back in the context of the calling thread; a thread that has none would end the process.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import get_ident
from typing import Any

from taichimd.core.cuda_driver import first_context


def give_back_in_any_thread(
    arrays: type[Any], in_context: Callable[[], AbstractContextManager[Any]] = first_context
) -> None:
    """Have other threads than this one give arrays of a runtime, a class, back in the device's context."""
    home, give_back, this_thread = get_ident(), arrays.__del__, get_ident

    def freed(array: Any) -> None:
        if this_thread() == home:
            give_back(array)
            return
        with in_context():
            give_back(array)

    arrays.__del__ = freed
