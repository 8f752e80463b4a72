"""What carries positions, and what is said where NCCL cannot."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np

from taichimd.core.host_copies import on_host
from taichimd.core.runtime import start, ti
from taichimd.parallel import transport
from taichimd.parallel.transport import HostTransport, Route, transport_of


def two_alike():
    """A communicator of two processes that do the same."""
    sent = []

    def gathered(ours, received):
        received[:] = np.concatenate([ours, ours])

    def receive(buffer, _):
        return SimpleNamespace(Wait=lambda: buffer.__setitem__(slice(None), sent[-1]))

    def send(buffer, _):
        sent.append(buffer)
        return SimpleNamespace(Wait=lambda: None)

    return SimpleNamespace(
        rank=0, size=2, allgather=lambda one: [one, one], Allgather=gathered, Irecv=receive, Isend=send
    )


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
    mine, received = ti.ndarray(vec, 5), ti.ndarray(vec, 4)
    sent = np.random.default_rng(1).normal(size=(5, 3))
    way.write(mine, sent)
    np.testing.assert_array_equal(way.gather(mine), np.concatenate([sent, sent]))
    way.write(received, np.full((4, 3), 7.0))
    way.exchange(mine, received, Route(((1, 2, 3),), ((1, 0, 3),)))
    np.testing.assert_array_equal(on_host(received)[:3], sent[2:])
    way.exchange(mine, received, Route((), ()))  # one process alone
    np.testing.assert_array_equal(on_host(received)[:3], sent[2:])


class Communicator:
    """A stand-in of CuPy's: the other process sends the same numbers, each larger by one."""

    made: list = []  # noqa: RUF012

    def __init__(self, size, key, rank):
        self.made.append((size, key, rank))
        self.receives = []

    def allGather(self, source, target, count, kind, stream):  # noqa: N802
        sent = source.to_numpy()
        assert (count, kind, stream) == (sent.size, 8 if sent.dtype == np.float64 else 7, 0)
        target[...] = np.concatenate([sent, sent + 1])

    def recv(self, target, count, kind, peer, stream):
        assert (kind, peer, stream) == (8, 1, 0)
        self.receives.append((target, count))

    def send(self, source, count, kind, peer, stream):
        assert (kind, peer, stream) == (8, 1, 0)
        (array, target), wanted = self.receives.pop()
        (ours, first), values = source, array.to_numpy()
        assert count == wanted
        flat = ours.to_numpy().ravel()[first // 8 :][:count] + 1
        values.ravel()[target // 8 :][:count] = flat
        array.from_numpy(values)


class Address(tuple):
    """An array and an offset in bytes."""

    def __new__(cls, array, offset=0):
        return super().__new__(cls, (array, offset))

    def __add__(self, offset):
        return Address(self[0], self[1] + offset)

    def to_numpy(self):
        return self[0].to_numpy()


class OnDevice(np.ndarray):
    """An array of CuPy, as far as it is asked for here."""

    def get(self):
        return np.asarray(self)

    @property
    def data(self):
        return SimpleNamespace(ptr=self)


def stand_in(monkeypatch, available=True):
    """CuPy with NCCL, as far as it is asked for here."""
    cupy, cuda = ModuleType("cupy"), ModuleType("cupy.cuda")
    cupy.cuda, cupy.arange, cupy.argsort = cuda, np.arange, np.argsort
    cupy.empty = lambda shape, kind: np.empty(shape, kind).view(OnDevice)
    cuda.get_current_stream = lambda: SimpleNamespace(synchronize=lambda: None)
    cupy.argpartition = lambda values, place: SimpleNamespace(get=lambda: np.argpartition(values, place))
    cuda.runtime = SimpleNamespace(deviceGetPCIBusId=lambda device: "0000:01:00.0")
    cuda.nccl = SimpleNamespace(
        available=available, get_unique_id=lambda: b"key", NcclCommunicator=Communicator,
        NCCL_FLOAT32=7, NCCL_FLOAT64=8, groupStart=lambda: None, groupEnd=lambda: None,
    )  # fmt: skip
    for module in (cupy, cuda):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(transport, "address_of", lambda array: (Address(array), None))


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
    mine = ti.ndarray(ti.types.vector(3, ti.f32), 2)
    mine.fill(3.0)
    np.testing.assert_array_equal(way.gather(mine)[:, 0], [3, 3, 4, 4])


def test_a_cupy_without_nccl_says_what_to_install(monkeypatch, capsys):
    stand_in(monkeypatch, available=False)
    assert transport_of(two_devices(), "cuda").name == "host"
    assert "CuPy finds no NCCL; pip install nvidia-nccl-cu12 or -cu13" in capsys.readouterr().err
