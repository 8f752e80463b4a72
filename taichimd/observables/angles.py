"""Bond angles and coordination numbers."""

import numpy as np

from taichimd.core.arrays import Array
from taichimd.estimators.bonds import bond_structure, highest_peak
from taichimd.io.analysis_files import curves
from taichimd.observables.numbers import band, finding
from taichimd.observables.observable import Result, Rows, TrajectoryObservable, Values
from taichimd.observables.trajectory import Trajectory


class Angles(TrajectoryObservable):
    """Angles of every triple of species, coordination of every pair; no bond length fits every system."""

    name, tables, picture = "angles", ("angles", "coordination"), "angles"
    by_default = False

    @classmethod
    def of_trajectory(cls, trajectory: Trajectory) -> Result:
        """Result of all frames, with bonds shorter than the requested length."""
        frames, length = trajectory.frames, trajectory.request.angles
        assert length is not None
        found = bond_structure(
            frames.symbols.tolist(), frames.positions, frames.cells, frames.pbc, length,
            blocks=trajectory.pieces,
        )  # fmt: skip
        rows: Rows = []
        values: Values = {}
        of_bin = f"no error: the place of a maximum, of bins {found.angle[0] * 2:.2g}° wide"
        columns, lines = {"angle_deg": found.angle}, {}
        for triple, density in found.angles.items():
            name = "-".join(triple)
            lines[name] = band(density)
            columns |= {f"p_{name}_per_deg": density.value, f"error_{name}": density.error}
            top = highest_peak(found.angle, density.value)
            width = "" if np.isnan(top.width) else f", {top.width:.3g}° wide at half of it"
            mean = float(density.value @ found.angle / density.value.sum())
            rows.append((f"angle {name}", f"highest at {top.position:.4g}°{width}; mean {mean:.4g}°"))
            values[f"angle_{name}_position"] = finding(top.position, None, "°", note=of_bin)
            values[f"angle_{name}_mean"] = finding(
                mean, None, "°", note="no error: a mean over the histogram"
            )
        most = len(next(iter(found.coordination.values())).fractions.value)
        count: Array = np.arange(most, dtype=np.float64)
        table, shares = {"neighbours": count}, {}
        for (a, b), numbers in found.coordination.items():
            share, column = numbers.fractions, f"{b}_around_{a}"
            table |= {f"fraction_{column}": share.value, f"error_{column}": share.error}
            if numbers.mean.value > 0:
                name = f"{b} around {a}"
                shares[name] = band(share)
                each = ", ".join(
                    f"{100 * share.value[k]:.3g}% have {k}" for k in np.flatnonzero(share.value > 0.0005)
                )
                near = finding(numbers.mean.value, numbers.mean.error, "1", note=numbers.mean.note)
                rows.append((name, f"{near.number} within {length:g} Å: {each}"))
                values[f"n_{b}_around_{a}"] = near
        told = {numbers.mean.note for numbers in found.coordination.values()} - {""}
        notes = [f"angles and coordination: {note}" for note in sorted(told)]
        return Result([columns, table], [
            lambda axis: curves(axis, found.angle, lines, "bond angle (degrees)", "probability (1/degree)"),
            lambda axis: curves(axis, count, shares, f"neighbours within {length:g} Å", "share of atoms"),
        ], rows, values, notes)  # fmt: skip
