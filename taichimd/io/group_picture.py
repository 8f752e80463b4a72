"""A picture of the groups of a structure: atoms seen along z, y and x, each group in its colour."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from ase import Atoms
from ase.data import covalent_radii

from taichimd.core.errors import OutputError
from taichimd.io.files import write_atomically
from taichimd.system.groups import Numbers

_COLOURS = ("#c8402f", "#1f6fb4", "#3a8f4d", "#d28a1c", "#7b52a8", "#1aa3a3", "#b8478f", "#6b6b2f")
_NONE = "#cfcfcf"
_FORMATS = (".png", ".pdf", ".svg")
_MAX_DOTS = 200_000


def check_name(path: Path) -> None:
    """Raise an OutputError unless a name ends as a picture does, in a folder that is there."""
    if path.suffix not in _FORMATS:
        raise OutputError(
            f"{path}: expected the name of a picture, which ends in {', '.join(_FORMATS)}; or none"
        )
    if not path.parent.is_dir():
        raise OutputError(f"cannot write {path}: there is no folder {path.parent}; make it, or name another")


def draw_groups(atoms: Atoms, groups: Mapping[str, Numbers], path: Path) -> None:
    """Draw the groups of a structure, numbers of atoms by name; the suffix says the format.

    Atoms of no group are grey. An atom of several groups has the colour of the last one.
    """
    check_name(path)
    from matplotlib.figure import Figure

    x = atoms.get_positions(wrap=bool(atoms.cell.rank == 3))
    of_atom = np.full(len(atoms), -1)
    for number, members in enumerate(groups.values()):
        of_atom[members] = number
    shown = np.arange(len(atoms))[:: max(1, len(atoms) // _MAX_DOTS)]
    colours = np.array([*_COLOURS, _NONE])[np.where(of_atom < 0, len(_COLOURS), of_atom % len(_COLOURS))]
    figure = Figure(figsize=(11.0, 4.2), layout="constrained")
    spans = np.ptp(x, axis=0) + 2.0
    panels = [(0, 1, 2), (0, 2, 1), (1, 2, 0)]
    axes = figure.subplots(1, 3)
    for axis, (right, up, along) in zip(axes, panels, strict=True):
        order = shown[np.lexsort((x[shown, along], of_atom[shown] >= 0))]
        size = np.clip(4e4 * covalent_radii[atoms.numbers[order]] ** 2 / (spans[right] * spans[up]), 0.5, 120)
        edge = 0.2 if len(order) < 5000 else 0.0
        axis.scatter(
            x[order, right], x[order, up], s=size, c=colours[order], edgecolors="#333333", linewidths=edge
        )
        axis.set_xlabel(f"{'xyz'[right]} (Å)")
        axis.set_ylabel(f"{'xyz'[up]} (Å)")
        axis.set_aspect("equal", adjustable="datalim")
    for number, (name, members) in enumerate(groups.items()):
        axes[0].scatter([], [], c=_COLOURS[number % len(_COLOURS)], label=f"{name}: {len(members):,}")
    if groups:
        figure.legend(loc="outside upper center", ncols=6, frameon=False)
    write_atomically(path, lambda file: figure.savefig(file, format=path.suffix[1:], dpi=130))
