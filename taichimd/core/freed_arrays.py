"""Arrays of a GPU may be freed in any thread.

Python's garbage collector runs in any thread, for example in the thread that writes frames. The runtimes free
an array in the current context of the calling thread. Without a current context the process would end.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import get_ident
from typing import Any

from taichimd.core.cuda_driver import first_context


def give_back_in_any_thread(
    arrays: type[Any], in_context: Callable[[], AbstractContextManager[Any]] = first_context
) -> None:
    """Let other threads than this one free arrays of a runtime's class: in the first device's context."""
    home, give_back, this_thread = get_ident(), arrays.__del__, get_ident

    def freed(array: Any) -> None:
        if this_thread() == home:
            give_back(array)
            return
        with in_context():
            give_back(array)

    arrays.__del__ = freed
