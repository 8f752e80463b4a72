"""Threads that share a calculator take turns; a forked process is told to be spawned."""

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from ase.build import bulk

from taichimd import TaichiMD
from taichimd.core.errors import BackendError
from taichimd.core.exclusive import PROCESS, check_process


def structure(seed):
    atoms = bulk("Ar", cubic=True, a=5.4)
    atoms.rattle(0.05, seed=seed)
    return atoms


def test_six_threads_share_one_calculator():
    calculator = TaichiMD("Ar.lj")
    alone = [TaichiMD("Ar.lj").get_property("forces", structure(seed)) for seed in range(12)]
    barrier = threading.Barrier(6)

    def forces(seed):
        if seed < 6:
            barrier.wait(60)
        return [calculator.get_property("forces", structure(seed)) for _ in range(5)]

    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(forces, range(12)))
    for expected, found in zip(alone, together, strict=True):
        for one in found:
            np.testing.assert_array_equal(one, expected)


def _in_a_child(queue, calculator):
    try:
        queue.put(float(calculator.get_property("energy", structure(2))))
    except BackendError as error:
        queue.put(str(error))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="the system has no fork")
def test_a_fork_after_a_calculation_is_told_to_spawn():
    calculator = TaichiMD("Ar.lj")
    calculator.get_property("energy", structure(1))
    context = multiprocessing.get_context("fork")
    for own in (calculator, TaichiMD("Ar.lj")):
        queue = context.Queue()
        process = context.Process(target=_in_a_child, args=(queue, own))
        process.start()
        said = queue.get(timeout=60)
        process.join()
        assert "use spawn" in said
        assert "forked after taichimd had computed" in said
    assert isinstance(calculator.get_property("energy", structure(2)), float), "the parent continues"


def test_a_fork_before_any_calculation_is_none_of_ours(monkeypatch):
    monkeypatch.setattr(PROCESS, "started", False)
    monkeypatch.setattr(PROCESS, "forked", True)
    monkeypatch.setattr(PROCESS, "lock", PROCESS.lock)
    with pytest.raises(BackendError, match="use spawn"):
        check_process()
    PROCESS.after_fork()
    check_process()
