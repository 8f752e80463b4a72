"""What carries positions, and what is said where NCCL cannot."""

import sys
from types import SimpleNamespace

import numpy as np

from taichimd.core.runtime import start, ti
from taichimd.parallel.transport import HostTransport, transport_of


def two_alike():
    """A communicator of two processes that do the same."""

    def gathered(sent, received):
        received[:] = np.concatenate([sent, sent])

    return SimpleNamespace(rank=0, size=2, allgather=lambda one: [one, one], Allgather=gathered)


def test_without_cupy_positions_go_through_the_host(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "cupy", None)
    way = transport_of(two_alike(), "cuda")
    assert isinstance(way, HostTransport)
    told = capsys.readouterr().err
    assert told.startswith("note: positions go through the host, because ModuleNotFoundError:")
    assert transport_of(two_alike(), "cpu").name == "host"
    assert not capsys.readouterr().err


def test_the_host_carries_exact_numbers():
    start()
    way, vec = HostTransport(two_alike()), ti.types.vector(3, ti.f64)
    mine, everyone = ti.ndarray(vec, 5), ti.ndarray(vec, 10)
    sent = np.random.default_rng(1).normal(size=(5, 3))
    way.write(mine, sent)
    way.gather(mine, everyone)
    np.testing.assert_array_equal(way.read(everyone, 10), np.concatenate([sent, sent]))
    np.testing.assert_array_equal(way.read(mine, 2), sent[:2])
    way.gather(mine, mine)  # one process alone
    np.testing.assert_array_equal(way.read(mine, 5), sent)
