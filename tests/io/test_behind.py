"""Files that another thread writes: their order, a bounded queue, and errors that come back."""

import threading
import time

import pytest

from taichimd.core.errors import OutputError
from taichimd.io import behind
from taichimd.io.behind import Behind


def test_what_is_put_is_done_in_order_and_elsewhere():
    done, mine = [], Behind()
    for number in range(20):
        mine.put(lambda number=number: done.append((number, threading.current_thread())), 10)
    mine.wait()
    assert [number for number, _ in done] == list(range(20))
    assert threading.current_thread() not in {thread for _, thread in done}


def test_a_slow_disk_makes_the_run_wait(monkeypatch):
    """At most the bytes of the queue wait; one piece more may be on its way."""
    monkeypatch.setattr(behind, "MAX_BYTES", 100)
    waiting, most, mine = [], [], Behind()

    def task():
        time.sleep(0.005)
        waiting.pop()

    for _ in range(10):
        mine.put(task, 40)
        waiting.append(1)
        most.append(len(waiting))
    mine.wait()
    assert max(most) <= 3


def test_an_error_ends_the_file_and_is_raised_in_the_run():
    done, mine = [], Behind()
    gate = threading.Event()

    def fails():
        gate.wait()
        raise OutputError("the disk is full")

    mine.put(lambda: done.append(0), 1)
    mine.put(fails, 1)
    mine.put(lambda: done.append(1), 1)
    gate.set()
    with pytest.raises(OutputError, match="the disk is full"):
        mine.wait()
    mine.put(lambda: done.append(2), 1)
    mine.wait()
    assert done == [0]


def test_an_error_of_one_file_leaves_others_alone():
    done, one, other = [], Behind(), Behind()
    one.put(lambda: 1 / 0, 1)
    other.put(lambda: done.append(1), 1)
    other.wait()
    with pytest.raises(ZeroDivisionError):
        one.wait()
    assert done == [1]
