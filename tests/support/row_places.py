"""Places of entries in rows of neighbours, on the host."""

import numpy as np

from taichimd.neighbours.rows import CHUNK, CHUNKED, SLOT_MAJOR


def places_of(n, width, layout):
    """`slot` on the host: (n, width) places of the entries of each atom."""
    i, s = np.ogrid[:n, :width]
    if layout == SLOT_MAJOR:
        return np.asarray(s * n + i)
    if layout == CHUNKED:
        return np.asarray((s // CHUNK * n + i) * CHUNK + s % CHUNK)
    return np.asarray(i * width + s)
