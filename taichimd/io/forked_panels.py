"""The panels of a picture, drawn at the same time, each in a process of its own.

Text and lines of a panel take most of the time of a picture. The processes are copies of the calling one
(`os.fork`), so they have the figure as it is, and they write their pixels into memory that all share.
"""

import mmap
import os
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg

together = False
"""Whether this process may do so: it has one thread of Python, and processors are free."""
_WHITE = (1.0, 1.0, 1.0, 1.0)


def draw(canvas: "FigureCanvasAgg") -> np.ndarray:
    """Pixels (height, width, 4) of a figure, those of `canvas.draw`; panels must not overlap."""
    axes = canvas.figure.axes
    if not together or len(axes) < 2 or canvas.figure.get_facecolor() != _WHITE:
        return _pixels(canvas)
    width, height = canvas.get_width_height(physical=True)
    shape = len(axes), height, width, 4
    with mmap.mmap(-1, int(np.prod(shape))) as memory:
        found = np.frombuffer(memory, np.uint8).reshape(shape)
        children = [_child(canvas, axis, found[k]) for k, axis in enumerate(axes) if k]
        pixels = _only(canvas, axes[0], with_texts=True).copy()
        done = [_succeeded(child) for child in children]
        for k in range(1, len(axes)):
            # All but one are white there.
            np.minimum(pixels, found[k], out=pixels)
        del found
    for axis in axes:
        axis.set_visible(True)
    return pixels if all(done) else _pixels(canvas)


def _child(canvas: "FigureCanvasAgg", axis: "Axes", room: np.ndarray) -> int:
    """Begin to draw one panel in another process; its number, or 0 where none could be started."""
    try:
        child = os.fork()
    except OSError:
        return 0
    if child == 0:
        code = 1
        try:
            room[...] = _only(canvas, axis, with_texts=False)
            code = 0
        finally:
            os._exit(code)
    return child


def _succeeded(child: int) -> bool:
    return child != 0 and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _only(canvas: "FigureCanvasAgg", axis: "Axes", with_texts: bool) -> np.ndarray:
    """Pixels of one panel, and of the texts outside panels or not."""
    for other in canvas.figure.axes:
        other.set_visible(other is axis)
    if not with_texts:
        for text in canvas.figure.texts:
            text.set_visible(False)
    return _pixels(canvas)


def _pixels(canvas: "FigureCanvasAgg") -> np.ndarray:
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())
