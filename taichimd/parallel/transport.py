"""Ways for the arrays of a process to others: through the host with MPI, or between GPUs with NCCL.

Both have the same methods. `xp` is the module of arrays that `gather` returns and `write` takes: NumPy, or
CuPy, whose arrays stay on the GPU.
"""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from taichimd.core.host_copies import address_of, host_like, on_host, to_device
from taichimd.core.printable import tell
from taichimd.core.runtime import ti

KEPT = 2**30
"""Bytes of spare memory that CuPy may keep for its next arrays."""
_DEFAULT_STREAM = 0
"""Stream of the runtime's kernels and of CuPy."""


@dataclass(frozen=True)
class Route:
    """What goes where in an exchange."""

    # process, first vector of `sent` and number of vectors, of each message to another process
    sends: tuple[tuple[int, int, int], ...]
    receives: tuple[tuple[int, int, int], ...]  # the same of messages from other processes, and of `received`


class HostTransport:
    """Through the memory of the host, with MPI; for any runtime and backend; `reason`: why it is not NCCL."""

    name = "host"

    def __init__(self, processes: Any, reason: str = "") -> None:
        self.xp, self._processes, self.reason = np, processes, reason

    def write(self, array: Any, values: Any) -> None:
        """Fill an array of the device with values of its type and shape."""
        to_device(array, np.ascontiguousarray(values, host_like(array, 0).dtype))

    def gather(self, mine: Any) -> Any:
        """(processes length, 3) vectors `mine` of all processes, one process after the other."""
        sent = on_host(mine)
        if self._processes.size == 1:
            return sent
        received = np.empty((self._processes.size * len(sent), 3), sent.dtype)
        self._processes.Allgather(sent, received)
        return received

    def exchange(self, sent: Any, received: Any, route: Route) -> None:
        """Send stretches of one array of vectors to other processes, and fill the other array with theirs."""
        if not route.sends:
            return
        ours = on_host(sent)
        theirs = np.empty((received.shape[0], 3), ours.dtype)
        waits = [self._processes.Irecv(theirs[first : first + n], p) for p, first, n in route.receives]
        waits += [self._processes.Isend(ours[first : first + n], p) for p, first, n in route.sends]
        for wait in waits:
            wait.Wait()
        to_device(received, theirs)

    def trim(self) -> None:
        """Give spare memory back to the runtime."""


class NcclTransport:
    """Between the GPUs of one host. Kernels, copies and NCCL are in one stream, so nobody waits on the host.

    RuntimeError: a process has no CuPy, CuPy has no NCCL, two processes share a GPU, or a process receives
    what was not sent.
    """

    name, reason = "nccl", ""

    def __init__(self, processes: Any) -> None:
        # Multicast over NVLink is not allowed on all hosts; NCCL then fails where it could do without.
        os.environ["NCCL_NVLS_ENABLE"] = "0"
        self._processes = processes
        self._pair: tuple[Any, ...] = (None, None)
        self._in_all(self._load)
        devices = processes.allgather(self._device)
        if len(set(devices)) < len(devices):
            raise RuntimeError("processes share a GPU")
        key = processes.bcast(self._key)
        self._in_all(lambda: self._connect(key))
        self._in_all(self._check)

    def _in_all(self, stage: Any) -> None:
        """Do a stage in every process; it fails in all or in none."""
        told = ""
        try:
            stage()
        except Exception as error:  # of CuPy, NCCL, the driver: each has its own
            told = f"{type(error).__name__}: {error}"
        if first := next(filter(None, self._processes.allgather(told)), None):
            raise RuntimeError(first)

    def _load(self) -> None:
        import cupy
        from cupy.cuda import nccl

        if not nccl.available:
            raise RuntimeError("CuPy finds no NCCL; pip install nvidia-nccl-cu12 or -cu13, with CuPy 14")
        self.xp: Any = cupy
        self._nccl: Any = nccl
        self._device: str = cupy.cuda.runtime.deviceGetPCIBusId(0)
        self._key = nccl.get_unique_id() if self._processes.rank == 0 else b""

    def _connect(self, key: bytes) -> None:
        self._all = self._nccl.NcclCommunicator(self._processes.size, key, self._processes.rank)

    def _check(self) -> None:
        """Send a few numbers, and sort some, for which CuPy needs a compiler."""
        self.xp.argpartition(self.xp.argsort(self.xp.arange(9.0)), 3).get()
        size, rank = self._processes.size, self._processes.rank
        vec = ti.types.vector(3, ti.f64)
        mine, received = ti.ndarray(vec, 2), ti.ndarray(vec, 2 * size)
        mine.fill(1.0 + rank)
        received.fill(1.0 + rank)
        expected = np.repeat(1.0 + np.arange(size), 2)[:, None]
        everyone = self.gather(mine).get()
        others = [p for p in range(size) if p != rank]
        self.exchange(
            mine, received, Route(tuple((p, 0, 2) for p in others), tuple((p, 2 * p, 2) for p in others))
        )
        ti.sync()
        if not ((everyone == expected).all() and (received.to_numpy() == expected).all()):
            raise RuntimeError("NCCL has delivered other numbers than were sent")

    def _view(self, array: Any) -> Any:
        """The array itself as one of CuPy."""
        address, held = address_of(array)
        like = host_like(array, 0)
        shape = (array.shape[0], *like.shape[1:])
        memory = self.xp.cuda.UnownedMemory(address, int(np.prod(shape)) * like.itemsize, (array, held))
        return self.xp.ndarray(shape, like.dtype, self.xp.cuda.MemoryPointer(memory, 0))

    def write(self, array: Any, values: Any) -> None:
        """See `HostTransport`."""
        self._view(array)[...] = self.xp.asarray(values)

    def gather(self, mine: Any) -> Any:
        """See `HostTransport`."""
        source, held = address_of(mine)
        like = host_like(mine, 0)
        everyone = self.xp.empty((self._processes.size * mine.shape[0], 3), like.dtype)
        kind = self._kind_of(like.itemsize)
        self._all.allGather(source, everyone.data.ptr, 3 * mine.shape[0], kind, _DEFAULT_STREAM)
        self.xp.cuda.get_current_stream().synchronize()  # `mine` may be gone before NCCL has read it
        del held
        return everyone

    def exchange(self, sent: Any, received: Any, route: Route) -> None:
        """See `HostTransport`."""
        if self._pair[0] is not sent or self._pair[1] is not received:
            self._pair = sent, received, host_like(sent, 0).itemsize, address_of(sent), address_of(received)
        _, _, itemsize, (source, _), (target, _) = self._pair
        kind, size = self._kind_of(itemsize), 3 * itemsize
        # Receives and sends of one group go at a time, in one kernel.
        self._nccl.groupStart()
        for p, first, n in route.receives:
            self._all.recv(target + first * size, 3 * n, kind, p, _DEFAULT_STREAM)
        for p, first, n in route.sends:
            self._all.send(source + first * size, 3 * n, kind, p, _DEFAULT_STREAM)
        self._nccl.groupEnd()

    def trim(self) -> None:
        """See `HostTransport`."""
        pool = self.xp.get_default_memory_pool()
        if pool.free_bytes() > KEPT:
            pool.free_all_blocks()

    def _kind_of(self, itemsize: int) -> int:
        """NCCL's number of the type of so many bytes."""
        kind: int = self._nccl.NCCL_FLOAT64 if itemsize == 8 else self._nccl.NCCL_FLOAT32
        return kind


def transport_of(processes: Any, backend: str) -> HostTransport | NcclTransport:
    """NCCL between GPUs if it works, else the host; the first process says why it is the host."""
    reason = ""
    if backend == "cuda" and processes.size > 1:
        try:
            return NcclTransport(processes)
        except RuntimeError as error:
            reason = " ".join(str(error).split())
            if processes.rank == 0:
                tell(f"note: positions go through the host, because {reason}")
    return HostTransport(processes, reason)
