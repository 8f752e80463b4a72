"""Molecules of a reactive run through time."""

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.saved import saved_array
from taichimd.estimators.molecules import count_formulas, molecules
from taichimd.io.analysis_files import curves
from taichimd.observables.numbers import finding
from taichimd.observables.observable import Result, RunObservable
from taichimd.observables.observed_run import ObservedRun

if TYPE_CHECKING:
    from taichimd.forcefields.base import ForceField

ONE_SAMPLE = "no error: a count of one sample"
MAX_SHOWN = 7
"""Species in the picture and the summary, the most frequent ones."""


class Species(RunObservable):
    """Molecules by formula: atoms connected by bonds with a bond order above a limit."""

    name, tables, picture = "species", ("species",), "species"
    takes_exchange = True

    def __init__(self, run: ObservedRun) -> None:
        super().__init__(run)
        self._counts: list[Counter[str]] = []
        run.samplers["species"] = self

    @classmethod
    def check_forcefield(cls, forcefield: "ForceField") -> None:
        """Raise a PropertyError if it has no bonds."""
        forcefield.check_bonds()

    def sample(self, state: Any, energies: Any, virials: Any, centre: Any) -> None:
        """Count the molecules of one sample."""
        engine = self.run.engine
        bonds = engine.bonds()
        strong = bonds.order > self.run.plan.bond_order
        of_molecule = molecules(engine.n_atoms, bonds.i[strong], bonds.j[strong])
        self._counts.append(count_formulas(engine.symbols, of_molecule))

    def save(self) -> dict[str, Any]:
        """What a checkpoint must keep."""
        formulas, counts = self._table()
        return {"formulas": np.array(formulas, str), "counts": counts}

    def load(self, saved: dict[str, Any]) -> None:
        """Continue from what `save` gave."""
        formulas = [str(one) for one in np.ravel(saved.get("formulas", []))]
        counts = (
            np.reshape(saved.get("counts", []), (-1, len(formulas))) if formulas else np.empty((0, 0), int)
        )
        table = saved_array({"counts": counts}, "counts", "i", None, len(formulas))
        rows = (zip(formulas, row, strict=True) for row in table.tolist())
        self._counts = [Counter({formula: count for formula, count in row if count}) for row in rows]

    def result(self) -> Result:
        """Result of the run: a column for each species, the most frequent first."""
        formulas, counts = self._table()
        table: dict[str, Array] = {"time_ps": self.run.plan.interval * np.arange(float(len(counts)))}
        table |= {formula: counts[:, k].astype(float) for k, formula in enumerate(formulas)}
        result, lines = Result([table], [], []), {}
        for formula in formulas[:MAX_SHOWN]:
            count = table[formula]
            lines[formula] = count, np.zeros(len(count))
            told = f"{count[0]:.0f} at the start, {count[-1]:.0f} at the end, at most {count.max():.0f}"
            result.rows.append((f"species {formula}", told))
            result.values[f"species_{formula}_first"] = finding(count[0], None, "1", note=ONE_SAMPLE)
            result.values[f"species_{formula}_last"] = finding(count[-1], None, "1", note=ONE_SAMPLE)
        if len(formulas) > MAX_SHOWN:
            result.rows.append(("", f"and {len(formulas) - MAX_SHOWN} rarer species in species.csv"))
        result.panels.append(lambda axis: curves(axis, table["time_ps"], lines, "time (ps)", "molecules"))
        return result

    def _table(self) -> tuple[list[str], NDArray[np.int64]]:
        """Formulas, the most frequent first, and their counts, (samples, formulas)."""
        total: Counter[str] = sum(self._counts, Counter())
        formulas = sorted(total, key=lambda formula: (-total[formula], formula))
        counts = [[sample[formula] for formula in formulas] for sample in self._counts]
        return formulas, np.array(counts, np.int64).reshape(len(self._counts), len(formulas))
