"""The 3D view of a page: atoms of a trajectory as data, and the scripts that draw and play them.

3Dmol.js (N. Rego and D. Koes, Bioinformatics 31, 1322 (2015), 10.1093/bioinformatics/btu829) draws. It comes
inside chemiscope.min.js, which the build copies into `viewer/` (`hatch_build.py` at the root of the sources).
"""

import gzip
import json
from base64 import b64encode
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from ase.data import atomic_numbers, covalent_radii
from ase.data.colors import jmol_colors

from taichimd.core.markup import Html, element, joined, paragraph
from taichimd.report.frames import Shown

NO_LIBRARY = (
    "No 3D view: this installation lacks the JavaScript of the viewer. Install taichimd with pip, or "
    "run python hatch_build.py in the checkout, with chemiscope installed."
)
GROUP_COLOURS = ("#c8402f", "#1f6fb4", "#3a8f4d", "#8a5ea8", "#c98a1b", "#2a9d9d")
"""Colours of groups of atoms, in turn."""
OTHER_COLOUR = "#b8bcc2"
"""Colour of atoms in no group."""
_LEVELS = 65535
"""Steps of a 16-bit number."""
_LIBRARY = "viewer/chemiscope.min.js"
_LICENCES = ("LICENSE-3Dmol.txt", "viewer/LICENSE-chemiscope.txt", "viewer/LICENSES-of-parts.txt")


def has_library() -> bool:
    """Whether this installation has the JavaScript of the viewer."""
    return Path(str(files("taichimd.report"))).joinpath(_LIBRARY).is_file()


def view(shown: Shown, number: int = 0) -> Html:
    """Atoms that can be turned, zoomed and played; the page also needs `library()` once, and `view.js`."""
    if not has_library():
        return paragraph(NO_LIBRARY)
    species, kinds = np.unique(shown.symbols, return_inverse=True)
    looks = [_look(str(symbol)) for symbol in species]
    low, high, data = _packed(shown)
    still = bool((shown.cells == shown.cells[0]).all())
    groups = _groups(shown)
    scene = {
        "species": looks,
        "kinds": kinds.tolist(),
        "groups": groups["looks"],
        "members": groups["members"],
        "low": low,
        "high": high,
        "cells": [
            cell if np.any(cell) else None for cell in (shown.cells[:1] if still else shown.cells).tolist()
        ],
        "origin": [0.0, 0.0, 0.0],
        "labels": list(shown.labels),
    }
    counts = [int(np.count_nonzero(kinds == k)) for k in range(len(looks))]
    legend = [
        _legend([look["symbol"] for look in looks], [look["color"] for look in looks], counts, "elements")
    ]
    if groups["looks"]:
        names, colors, sizes = zip(*groups["looks"], strict=True)
        options = [element("option", one) for one in ("elements", "groups")]
        choice = element("label", "colour", element("select", *options, class_="coloured"))
        legend = [choice, *legend, _legend(names, colors, sizes, "groups")]
    playing = [
        element("button", "Play", class_="play", type="button"),
        Html('<input class="frame" type="range" min="0" value="0" step="1" aria-label="frame">'),
        element("output", shown.labels[0]),
        Html(
            '<label>frames per second <input class="speed" type="range" min="1" max="30" value="12"></label>'
        ),
    ]
    controls = [
        *playing,
        Html(
            '<label>atoms <input class="size" type="range" min="0.3" max="2.5" step="0.1" value="1"></label>'
        ),
        element("button", "Reset", class_="reset", type="button"),
        *legend,
    ]
    identity = f"view-{number}"
    return element(
        "div",
        element("div", class_="canvas"),
        element("p", "The 3D view starts when it is scrolled to. It needs JavaScript.", class_="message"),
        element("div", *controls, class_="controls"),
        data_script(scene, "scene"),
        Html(f'<script type="text/plain" id="{identity}">{data}</script>'),
        *(paragraph(f"{note}.") for note in shown.notes),
        class_="view",
        data_positions=identity,
    )


def _legend(names: Sequence[str], colors: Sequence[str], counts: Sequence[int], kind: str) -> Html:
    """Names with their colours and numbers of atoms."""
    entries = joined(
        element("span", element("span", class_="swatch", style=f"background:{color}"), f"{name} ({count:,})")
        for name, color, count in zip(names, colors, counts, strict=True)
    )
    return element("span", entries, class_=f"legend {kind}")


def _groups(shown: Shown) -> dict[str, Any]:
    """Names, colours and sizes of the groups, atoms of no group last; and the number of each atom's group."""
    if not shown.groups:
        return {"looks": [], "members": []}
    member = np.full(len(shown.symbols), len(shown.groups))
    for number, inside in enumerate(shown.groups.values()):
        member[inside] = number
    colors = [GROUP_COLOURS[k % len(GROUP_COLOURS)] for k in range(len(shown.groups))] + [OTHER_COLOUR]
    sizes = np.bincount(member, minlength=len(colors)).tolist()
    looks = zip([*shown.groups, "no group"], colors, sizes, strict=True)
    return {"looks": [list(look) for look in looks], "members": member.tolist()}


def library() -> Html:
    """The library of the viewer with its licences, packed; empty if this installation has none."""
    if not has_library():
        return Html("")
    folder = files("taichimd.report")
    licences = "\n\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in _LICENCES)
    packed = _compressed(folder.joinpath(_LIBRARY).read_bytes())
    return joined(
        [
            element(
                "details",
                element("summary", "Licences of the 3D viewer (3Dmol.js in chemiscope)"),
                element("pre", licences),
            ),
            Html(f'<script type="text/plain" id="viewer-library">{packed}</script>'),
        ]
    )


def data_script(content: Any, name: str) -> Html:
    """Data of a script as an element of this class."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return Html(f'<script type="application/json" class="{name}">{text}</script>')


def _look(symbol: str) -> dict[str, Any]:
    """Colour and radius (Å) of an element: those of Jmol, and half of a bond's length."""
    number = atomic_numbers.get(symbol, 0)
    rgb = (round(255 * channel) for channel in jmol_colors[number])
    radius = round(0.6 * float(covalent_radii[number]), 3)
    return {"symbol": symbol, "radius": radius, "color": "#" + "".join(f"{one:02x}" for one in rgb)}


def _packed(shown: Shown) -> tuple[list[float], list[float], str]:
    """Lowest and highest coordinates (Å), and 16-bit steps between them, packed as differences of frames."""
    low, high = shown.positions.min(axis=(0, 1)), shown.positions.max(axis=(0, 1))
    scale = np.where(high > low, high - low, 1.0) / _LEVELS
    steps = ((shown.positions - low) / scale).round().astype("<u2").transpose(0, 2, 1)
    steps[1:] -= steps[:-1].copy()
    return low.tolist(), (low + _LEVELS * scale).tolist(), _compressed(steps.tobytes())


def _compressed(data: bytes) -> str:
    return b64encode(gzip.compress(data, compresslevel=6, mtime=0)).decode()
