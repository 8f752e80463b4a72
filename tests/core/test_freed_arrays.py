"""Arrays that another thread gives back are given back in the device's context."""

import gc
import threading
from contextlib import contextmanager

from taichimd.core.freed_arrays import give_back_in_any_thread

said = []


@contextmanager
def context():
    said.append("begin")
    yield True
    said.append("end")


def arrays():
    class Array:
        def __del__(self):
            said.append("given back")

    said.clear()
    give_back_in_any_thread(Array, context)
    return Array


def test_the_thread_that_started_the_runtime_gives_back_as_before():
    array = arrays()()
    del array
    assert said == ["given back"]


def test_another_thread_has_the_context_meanwhile():
    gc.disable()
    try:
        array = arrays()()
        # A cycle: whichever thread collects next gives it back.
        array.itself = array
        del array
        assert said == []
        thread = threading.Thread(target=gc.collect)
        thread.start()
        thread.join()
    finally:
        gc.enable()

    assert said == ["begin", "given back", "end"]
