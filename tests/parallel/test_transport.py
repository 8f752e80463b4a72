"""What carries positions, and what is said where NCCL cannot."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np

from taichimd.core.runtime import start, ti
from taichimd.parallel import transport
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


class Communicator:
    """A stand-in of CuPy's: the other process sends the same numbers, each larger by one."""

    made: list = []  # noqa: RUF012

    def __init__(self, size, key, rank):
        self.made.append((size, key, rank))

    def allGather(self, source, target, count, kind, stream):  # noqa: N802
        sent = source.to_numpy()
        assert (count, kind, stream) == (sent.size, 8 if sent.dtype == np.float64 else 7, 0)
        target.from_numpy(np.concatenate([sent, sent + 1]))


def stand_in(monkeypatch, available=True):
    """CuPy with NCCL, as far as it is asked for here."""
    cupy, cuda = ModuleType("cupy"), ModuleType("cupy.cuda")
    cupy.cuda, cupy.arange, cupy.argsort = cuda, np.arange, np.argsort
    cupy.argpartition = lambda values, place: SimpleNamespace(get=lambda: np.argpartition(values, place))
    cuda.runtime = SimpleNamespace(deviceGetPCIBusId=lambda device: "0000:01:00.0")
    cuda.nccl = SimpleNamespace(
        available=available, get_unique_id=lambda: b"key", NcclCommunicator=Communicator,
        NCCL_FLOAT32=7, NCCL_FLOAT64=8,
    )  # fmt: skip
    for module in (cupy, cuda):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(transport, "address_of", lambda array: (array, None))


def two_devices():
    """As `two_alike`, each process with a GPU of its own."""
    each = two_alike()
    each.allgather = lambda one: [one, f"{one}'" if str(one).startswith("0000:") else one]
    each.bcast = lambda key: key
    return each


def test_nccl_is_asked_through_cupy(monkeypatch):
    start()
    stand_in(monkeypatch)
    way = transport_of(two_devices(), "cuda")
    assert way.name == "nccl"
    assert Communicator.made[-1] == (2, b"key", 0)
    vec = ti.types.vector(3, ti.f32)
    mine, everyone = ti.ndarray(vec, 2), ti.ndarray(vec, 4)
    mine.fill(3.0)
    way.gather(mine, everyone)
    np.testing.assert_array_equal(everyone.to_numpy()[:, 0], [3, 3, 4, 4])


def test_a_cupy_without_nccl_says_what_to_install(monkeypatch, capsys):
    stand_in(monkeypatch, available=False)
    assert transport_of(two_devices(), "cuda").name == "host"
    assert "CuPy finds no NCCL; pip install nvidia-nccl-cu12 or -cu13" in capsys.readouterr().err
