"""Pictures of runs are drawn once a kind: one takes a third of a second, and tests write hundreds.

Other pictures of the same kind have the bytes of the first, followed by a digest of what they show. So files
that show the same are equal, and files that show something else are not.
"""

import hashlib
import io
from functools import wraps

import numpy as np


def quick(savefig):
    """The method `savefig` of matplotlib's figures for tests: it draws a PNG only if its kind is new."""
    drawn = {}

    @wraps(savefig)
    def save(figure, file, **options):
        if options.get("format") != "png" or not hasattr(file, "write"):
            return savefig(figure, file, **options)
        kind = kind_of(figure), *sorted(options.items())
        if kind not in drawn:
            savefig(figure, stream := io.BytesIO(), **options)
            drawn[kind] = stream.getvalue()
        file.write(drawn[kind] + digest_of(figure))

    return save


def kind_of(figure):
    """What may decide if and how matplotlib draws a figure: all but the text of titles and the numbers."""
    return tuple(figure.get_size_inches()), tuple(
        (
            (axis.get_xlabel(), axis.get_xscale(), axis.get_ylabel(), axis.get_yscale()),
            tuple(_shape_of(line.get_xydata()) for line in axis.lines),
            tuple(type(artist).__name__ for artist in axis.get_children() if artist not in axis.lines),
        )
        for axis in figure.axes
    )


def _shape_of(points):
    known = np.isfinite(points)
    return min(len(points), 3), bool(known.all()), bool(known.any())


def digest_of(figure):
    """A digest of the titles, the labels and the points that a figure shows, as bytes."""
    shown = hashlib.sha256(repr([[text.get_text() for text in figure.texts], kind_of(figure)]).encode())
    for axis in figure.axes:
        legend = axis.get_legend()
        texts = [axis.get_title(), *(text.get_text() for text in axis.texts)]
        texts += [text.get_text() for text in legend.get_texts()] if legend else []
        shown.update(repr(texts).encode())
        for line in axis.lines:
            shown.update(np.ascontiguousarray(line.get_xydata()).tobytes())
        for collection in axis.collections:
            for path in collection.get_paths():
                shown.update(np.ascontiguousarray(path.vertices).tobytes())
    return shown.digest()
