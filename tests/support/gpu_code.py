"""The code that only a GPU compiles, run on a CPU: its warps have one thread, its chunks of rows one entry.

Run as a script, it prints {name: hash} as `bits` does, and how often
warps were asked for.
What threads of a warp tell each other is not seen (`warps` has it), nor shared memory of several warps.
"""

import json
import sys
from collections import Counter

from taichimd.core import runtime

compiled = Counter()


class One(int):
    """One thread for an atom, in the loops of several."""

    def __gt__(self, other):
        return True


def as_on_a_gpu():
    """Make this process compile for CUDA, and run that on the CPU. Before anything else is imported."""
    runtime.start("cpu")
    runtime._backend = "cuda"
    runtime.start = lambda backend="auto": "cuda"
    runtime.multiprocessors = lambda: 1
    simt = runtime.ti.simt
    simt.warp.ballot = _counted("ballot", lambda condition: runtime.ti.select(condition != 0, 1, 0))
    if runtime.NAME == "quadrants":
        simt.subgroup.reduce_add_tiled = _counted("reduce", lambda value, log2: value)
        simt.subgroup.sync = _counted("barrier", lambda: None)
        simt.subgroup.shuffle = _counted("shuffle", lambda value, lane: value)
    else:
        # Sums take nothing from threads that are not there.
        simt.warp.shfl_down_i32 = _counted(
            "reduce", lambda mask, value, distance: runtime.ti.cast(0, runtime.ti.i32)
        )
        simt.warp.sync = _counted("barrier", lambda mask: None)
        simt.warp.shfl_sync_i32 = _counted("shuffle", lambda mask, value, lane: value)
    simt.block.sync = _counted("block", lambda: None)
    simt.block.SharedArray = _counted("shared", lambda shape, dtype: runtime.ti.Vector([0] * shape[0], dtype))
    from taichimd.core import memory
    from taichimd.neighbours import rows

    memory.free_bytes = memory._free_host
    rows.CHUNK, rows.LOG_CHUNK, rows.WARP = 1, 0, 1
    from taichimd.ensembles.thermostats import ledger
    from taichimd.enumerate import threads_per_atom
    from taichimd.neighbours import scan
    from taichimd.neighbours.search import functions, inner, shared, staged, staged_writes

    staged_writes.BLOCK = inner.BLOCK = staged.BLOCK = 1
    assert functions.CHUNK == shared.CHUNK == threads_per_atom.CHUNK == staged_writes.CHUNK == 1
    assert inner.WARP == scan.WARP == 1
    from taichimd.sampling import block_room

    block_room.BLOCK = 1
    ledger.WARPS = False
    threads_for = threads_per_atom.threads_for
    threads_per_atom.threads_for = lambda *of: One(1) if threads_for(*of) > 1 else 1


def _counted(name, function):
    """A function that is called while kernels are traced; the flags keep the runtime from a warning."""

    def call(*of):
        compiled[name] += 1
        return function(*of)

    call._is_quadrants_function = call._is_taichi_function = False
    return call


def searches():
    """A melt of 2,048 atoms, as few are searched for and as many: hash, how many a second loop does."""
    import hashlib

    from ase import units

    from taichimd import testing
    from taichimd.forcefields.lennard_jones import LennardJones
    from taichimd.neighbours import verlet_list
    from taichimd.neighbours.search.bins import LEFT
    from taichimd.program.engine import Engine

    atoms = testing.with_velocities(testing.argon_256().repeat(2), 600.0, 3)
    forcefield = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
    found = []
    for verlet_list.ENOUGH in (10**9, 1):
        engine = Engine(atoms, forcefield)
        engine.advance(60, 4.0 * units.fs)
        left = int(engine.device.lists.verlet.sort.sums.to_numpy()[LEFT])
        found.append((hashlib.sha256(engine.positions().tobytes()).hexdigest(), left))
    return found


if __name__ == "__main__":
    as_on_a_gpu()
    import bits

    from taichimd.program import groups

    found = {name: bits.computed(name) for name in sys.argv[1:]}
    if "melt" in found:
        # As with more atoms, where forces read the Verlet list itself.
        groups.NO_NEAR_LIST = 1
        found |= {"melt without a near list": bits.computed("melt"), "searches": searches()}
    print(json.dumps({**found, "compiled": compiled}))
