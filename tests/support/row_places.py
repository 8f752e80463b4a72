"""Where entries of rows lie in memory, on the host."""

import numpy as np

from taichimd.neighbours.rows import CHUNK, CHUNKED, SLOT_MAJOR


def places_of(n, width, layout):
    """`neighbours.rows.slot`: (n, width) places of the entries of each atom."""
    i, s = np.ogrid[:n, :width]
    if layout == SLOT_MAJOR:
        return s * n + i
    if layout == CHUNKED:
        return (s // CHUNK * n + i) * CHUNK + s % CHUNK
    return i * width + s
