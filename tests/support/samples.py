"""Samplers on the device, fed with structures and with a synthetic run in any spatial order."""

import numpy as np
from processes import ornstein_uhlenbeck

from taichimd.core.runtime import PRECISIONS, start, ti
from taichimd.observables.samplers.radial import RadialHistogram
from taichimd.observables.samplers.time_correlation import TimeCorrelation
from taichimd.system.state import Atoms


def device(values, precision="float64"):
    """An array of integers or of vectors on the device."""
    start()
    real, dtype = PRECISIONS[precision]
    values = np.asarray(values)
    if values.ndim == 1:
        array = ti.ndarray(ti.i32, len(values))
        array.from_numpy(values.astype(np.int32))
    else:
        array = ti.ndarray(ti.types.vector(3, real), len(values))
        array.from_numpy(np.ascontiguousarray(values, dtype))
    return array


def placed(order, precision="float64", **arrays):
    """Atoms as samplers take them, in the given spatial order; arrays are in the user's."""
    order = np.asarray(order)
    there = {name: device(np.asarray(values)[order], precision) for name, values in arrays.items()}
    return Atoms(n=len(order), ident=device(order), **there)


def kinds_of(atoms):
    return np.unique(atoms.numbers, return_inverse=True)[1].astype(np.int32)


def radial(atoms, r_max, bins, order=None, precision="float64", frames=1):
    """Counts of a structure whose atoms lie in the given spatial order."""
    start()
    order = np.arange(len(atoms)) if order is None else order
    kinds = kinds_of(atoms)
    histogram = RadialHistogram(len(atoms), int(kinds.max()) + 1, r_max, bins, precision)
    arrays = placed(order, precision, pos=atoms.positions, kind=kinds)
    for _ in range(frames):
        histogram.sample(arrays, atoms.cell[:])
    assert histogram.frames == frames
    return histogram.counts()


N, FRAMES = 150, 140
RNG = np.random.default_rng(5)
KINDS = RNG.integers(0, 3, N).astype(np.int32)
VEL = 0.02 * ornstein_uhlenbeck(RNG, (FRAMES, N, 3), 10.0)
POS = RNG.uniform(0, 20, (N, 3)) + np.cumsum(VEL, axis=0)


def correlation(window, every, shuffle=False, frames=range(FRAMES), made=None, **options):
    """Samples of the synthetic run; with `shuffle`, in another spatial order each time."""
    start()
    found = made or TimeCorrelation(KINDS, 3, window, every, **options)
    rng = np.random.default_rng(1)
    for k in frames:
        order = rng.permutation(N) if shuffle else np.arange(N)
        found.sample(placed(order, options.get("precision", "float64"), pos=POS[k], vel=VEL[k]))
    return found
