"""Baths of groups beside a motion of the cell: each does its part of what steps ask for.

The baths act on each atom alone, in the drift: the motion of the cell finds the kinetic energy as they leave
it. The arrays are those of the baths, with the arrays of the motion at their end.
"""

from dataclasses import replace

from taichimd.core.runtime import ti
from taichimd.ensembles.functions import EnsembleFunctions


def beside_cell(groups: EnsembleFunctions, cell: EnsembleFunctions) -> EnsembleFunctions:
    """Device functions of both.

    Args:
        groups: of baths that act on each atom alone.
        cell: of the motion of the cell (`of_rows`).
    """

    @ti.func
    def add_kinetic(i, n, v, f, inverse_mass, atom, baths: ti.template()):
        cell.add_kinetic(i, n, v, inverse_mass, baths)

    @ti.func
    def rescaled(i, v, atom, baths: ti.template()):
        return cell.rescaled(i, v, baths)

    return replace(
        cell, add_kinetic=add_kinetic, rescaled=rescaled, prepare=groups.prepare, refresh=groups.refresh,
        book=groups.book,
    )  # fmt: skip
