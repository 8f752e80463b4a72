"""Heat flow: temperature of each group through time; energy that baths, drives, a deformation give atoms."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.core.saved import saved_array
from taichimd.core.units import KB
from taichimd.estimators.blocks import block_note, with_note
from taichimd.estimators.series import Mean, mean_of
from taichimd.io.analysis_files import curves
from taichimd.observables.numbers import finding, plus_minus
from taichimd.observables.observable import Result, RunObservable
from taichimd.observables.observed_run import ObservedRun
from taichimd.observables.samplers.bin_columns import BITS, MAX_GROUPS
from taichimd.observables.samplers.joint import Joint, Sample
from taichimd.system.groups import Numbers


class Flow(Joint, RunObservable):
    """Temperature of each group, heat of each bath, work of each drive and of a deformation, with rates.

    The degrees of freedom of a group of N_g atoms that move are 3 (N_g - M_g/M) if the momentum of the
    system is conserved, else 3 N_g.
    """

    name, tables, picture = "flow", ("flow",), "flow"

    def __init__(self, run: ObservedRun) -> None:
        from taichimd.observables.samplers.bins import BinSums

        super().__init__(run)
        engine, self._groups = run.engine, dict(run.groups)
        self._accounts = [f"heat_{name}" for name in engine.heats()]
        self._accounts += [f"work_{name}" for name in engine.drives()]
        self._accounts += ["work_deformation"] * engine.ensemble.deforms
        powers = [_power(name) for name in self._accounts]
        if twice := [name for name in powers if powers.count(name) > 1]:
            raise SettingsError(
                f"observe = flow: a bath is called {twice[0]}, which is what the power of the work of "
                f"{twice[0].removeprefix('work_')} is called; give the group of the bath another name"
            )
        if not (self._groups or self._accounts):
            raise SettingsError(
                "observe = flow: there are no groups, baths of groups and drives; give --group, --bath"
            )
        if len(self._groups) > MAX_GROUPS:
            raise SettingsError(
                f"observe = flow: {len(self._groups)} groups, expected {MAX_GROUPS} at most; leave some out"
            )
        bits = np.zeros(engine.n_atoms, np.int32)
        for number, atoms in enumerate(self._groups.values()):
            bits[atoms] |= np.int32(1 << number)
        bits[run.fixed] = 0
        self._sums = BinSums(engine.masses, max(1, len(self._groups)), bits)
        self._freedom = [self._freedom_of(atoms) for atoms in self._groups.values()]
        self._temperatures: list[list[float]] = []
        self._heats: list[list[float]] = []
        run.samplers["flow"] = self

    def _freedom_of(self, atoms: Numbers) -> float:
        """Degrees of freedom of a group; NaN if none of its atoms moves."""
        run, masses = self.run, self.run.engine.masses
        free = atoms[~run.fixed[atoms]]
        conserved = not (run.fixed.any() or run.engine.moves_centre)
        share = float(masses[free].sum() / masses.sum()) if conserved else 0.0
        freedom = 3.0 * (len(free) - share)
        return freedom if freedom > 0.0 else np.nan

    @classmethod
    def sample_all(cls, each: Sequence["Flow"], sample: Sample) -> None:
        """Add one sample to each: temperatures and heats."""
        sums = [one._sums for one in each]
        sums[0].sample_all(sums, sample)
        for one in each:
            one._add()

    def _add(self) -> None:
        twice = self._sums.take()[: len(self._groups), 0] * 2.0**-BITS
        self._temperatures.append((twice / np.array(self._freedom) / KB).tolist())
        works = [one["work"] for one in self.run.engine.drives().values()]
        deformation = self.run.engine.deformation()
        works += [] if deformation is None else [deformation[1]]
        self._heats.append([*self.run.engine.heats().values(), *works])

    def save(self) -> dict[str, Any]:
        """What a checkpoint must keep."""
        n = len(self._heats)
        return {
            "temperatures": np.array(self._temperatures, float).reshape(n, len(self._groups)),
            "heats": np.array(self._heats, float).reshape(n, len(self._accounts)),
        }

    def load(self, saved: dict[str, Any]) -> None:
        """Continue from what `save` gave."""
        shown = {"temperatures": len(self._groups), "heats": len(self._accounts)}
        rows = {
            key: saved_array(saved, key, "f", None, count, finite=False).tolist()
            for key, count in shown.items()
        }
        self._temperatures, self._heats = rows["temperatures"], rows["heats"]

    def result(self) -> Result:
        """Result of the run: means and rates with errors from blocks, and a row for each sample."""
        plan, n = self.run.plan, len(self._heats)
        time = plan.interval * np.arange(float(n))
        temperatures = np.array(self._temperatures, float).reshape(n, -1)
        heats = np.array(self._heats, float).reshape(n, -1)
        table: dict[str, Array] = {"time_ps": time}
        result = Result([table], [], [])
        blocks = self._blocks(n)
        lines: dict[str, tuple[Array, Array]] = {}
        for number, name in enumerate(self._groups):
            column = table[f"temperature_{name}_K"] = temperatures[:, number]
            mean = _mean(np.array([column[block].mean() for block in blocks]))
            result.values[f"temperature_{name}"] = finding(mean.value, mean.error, "K", note=mean.note)
            result.rows.append((f"temperature {name}", f"{plus_minus(mean)} K"))
            lines[name] = column, 0.0 * column
        if lines:
            result.panels.append(lambda axis: curves(axis, time, lines, "time (ps)", "temperature (K)"))
        given: dict[str, tuple[Array, Array]] = {}
        for number, name in enumerate(self._accounts):
            column = table[f"{name}_eV"] = heats[:, number]
            rates = [_slope(column[block], plan.interval) for block in blocks]
            mean = _mean(np.array(rates))
            power = _power(name)
            result.values[f"power_{power}"] = finding(mean.value, mean.error, "eV/ps", note=mean.note)
            result.rows.append((f"power {power}", f"{plus_minus(mean)} eV/ps"))
            given[name] = column - column[0], 0.0 * column
        if given:
            result.panels.append(lambda axis: curves(axis, time, given, "time (ps)", "heat, work (eV)"))
        return result

    def _blocks(self, n: int) -> list[NDArray[np.int64]]:
        """Samples of each block; what does not fill the blocks is left out at the start."""
        plan = self.run.plan
        return list(np.arange(n - plan.length * plan.blocks, n).reshape(plan.blocks, plan.length))


def _power(account: str) -> str:
    """Name of a power: of a bath the name of the bath, of a drive with the word work."""
    return account.removeprefix("heat_")


def _slope(values: Array, interval: float) -> float:
    """Change per ps from the first to the last sample; NaN of one sample."""
    return float(values[-1] - values[0]) / (interval * (len(values) - 1)) if len(values) > 1 else np.nan


def _mean(blocks: Array) -> Mean:
    return with_note(mean_of(blocks), block_note(blocks))
