"""Temperature, density and stress in bins along an axis."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core import units
from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.core.saved import saved_array
from taichimd.core.units import KB
from taichimd.estimators.series import Mean, mean_of
from taichimd.io.analysis_files import curves
from taichimd.observables.numbers import band
from taichimd.observables.observable import Result, RunObservable
from taichimd.observables.observed_run import ObservedRun
from taichimd.observables.plan import Plan
from taichimd.observables.samplers.bin_columns import BITS, COLUMNS, COUNT, FREE, KINETIC, MASS, STRESS
from taichimd.observables.samplers.joint import Joint, Sample

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Lines = dict[str, tuple[Array, Array]]
MAX_BINS = 4096
_AT_ONCE = 64
"""Samples that are added up on the device."""
_LOW = 40
"""Bits of a sum in the lower one of two numbers of a checkpoint."""
_GRAMS = 1.66053906660
"""g/cm^3 of 1 amu/angstrom^3."""


class Profile(Joint, RunObservable):
    """Density, temperature and stress along x, y or z.

    A bin is a part of the cell between planes of equal distance. The temperature counts three degrees of
    freedom for each atom that moves. If the momentum of the system is conserved, three degrees of freedom are
    shared out by mass and taken off.
    """

    name, tables, picture = "profile", ("profile",), "profile"

    def __init__(self, run: ObservedRun) -> None:
        super().__init__(run)
        plan, cell = run.plan, run.engine.cell
        self._axis = "xyz".index(plan.profile_axis)
        length = 1.0 / float(np.linalg.norm(_direction(cell, self._axis)))
        self._bins = max(1, round(length / plan.profile_bin))
        self._periodic = bool(run.engine.pbc[self._axis])
        tilting = [name for name in getattr(run.engine.ensemble, "rates", {}) if name[1:]]
        if plan.profile_axis in [name[0] for name in tilting]:
            raise SettingsError(
                f"observe = profile: the shear {tilting[0]} tilts the planes normal to {plan.profile_axis}; "
                "choose another profile_axis"
            )
        self._start()
        run.samplers["profile"] = self

    def _start(self) -> None:
        from taichimd.observables.samplers.bins import BinSums

        blocks = self.run.plan.blocks
        self._sums = BinSums(self.run.engine.masses, self._bins)
        # Whole numbers of any length: sums are exact, however samples are grouped.
        self._found = np.full((blocks, self._bins, COLUMNS), 0, object)
        self._sizes = np.zeros((blocks, 2))
        self._waiting = 0

    @classmethod
    def check_system(
        cls, plan: Plan, symbols: list[str], masses: NDArray[np.float64], cell: NDArray[np.float64]
    ) -> None:
        """Raise a SettingsError if the cell has no planes normal to the axis, or there are too many bins."""
        axis = "xyz".index(plan.profile_axis)
        if abs(np.linalg.det(cell)) < 1e-9:
            raise SettingsError("observe = profile: needs a cell with three vectors that span a volume")
        direction = _direction(cell, axis)
        if np.abs(np.delete(direction, axis)).max() > 1e-9 * np.abs(direction).max():
            raise SettingsError(
                f"observe = profile: planes normal to {plan.profile_axis} need the two other cell vectors to "
                f"be normal to {plan.profile_axis}; choose another profile_axis"
            )
        length = 1.0 / np.linalg.norm(direction)
        bins = round(length / plan.profile_bin)
        if bins < 2:
            raise SettingsError(
                f"profile_bin = {plan.profile_bin:g}: the cell is {length:.3g} Å long along "
                f"{plan.profile_axis}; expected two bins or more, of {0.5 * length:.3g} Å or less"
            )
        if bins > MAX_BINS:
            raise SettingsError(
                f"profile_bin = {plan.profile_bin:g}: makes {bins:,} bins, expected {MAX_BINS:,} at most"
            )

    @classmethod
    def sample_all(cls, each: Sequence["Profile"], sample: Sample) -> None:
        """Add one sample to the block of each."""
        due = [k for k, one in enumerate(each) if one._block_of(one.run.taken) >= 0]
        if not due:
            return
        each, sums = [each[k] for k in due], [each[k]._sums for k in due]
        cells = [one.run.engine.cell for one in each]
        directions = [_direction(cell, one._axis) for one, cell in zip(each, cells, strict=True)]
        sums[0].sample_all(sums, sample.of(due), directions, [one._periodic for one in each])
        for one, cell, direction in zip(each, cells, directions, strict=True):
            one._added(1.0 / float(np.linalg.norm(direction)), abs(float(np.linalg.det(cell))))

    def _added(self, length: float, volume: float) -> None:
        """A sample is on the device, of a cell of this length and volume."""
        plan, block = self.run.plan, self._block_of(self.run.taken)
        self._sizes[block] += length, volume
        self._waiting += 1
        last = self.run.taken + 1 == plan.samples or self._block_of(self.run.taken + 1) != block
        if self._waiting == _AT_ONCE or last:
            self._drain(block)

    def _block_of(self, sample: int) -> int:
        """The block of a sample; below 0 of those at the start that fill none."""
        plan = self.run.plan
        return (sample - (plan.samples - plan.length * plan.blocks)) // plan.length

    def _drain(self, block: int) -> None:
        if self._waiting:
            self._found[block] += self._sums.take()
        self._waiting = 0

    def save(self) -> dict[str, Any]:
        """What a checkpoint must keep."""
        self._drain(max(0, self._block_of(max(0, self.run.taken - 1))))
        high, low = self._found >> _LOW, self._found & (2**_LOW - 1)
        return {"high": high.astype(np.int64), "low": low.astype(np.int64), "sizes": self._sizes}

    def load(self, saved: dict[str, Any]) -> None:
        """Continue from what `save` gave."""
        blocks = self.run.plan.blocks
        high = saved_array(saved, "high", "i", blocks, None, COLUMNS)
        low = saved_array(saved, "low", "i", *high.shape)
        self._bins = high.shape[1]
        self._start()
        self._found[:] = (high.astype(object) << _LOW) + low.astype(object)
        self._sizes[:] = saved_array(saved, "sizes", "f", blocks, 2)

    def result(self) -> Result:
        """Result of the run: a row for each bin, errors from the blocks."""
        run, plan, bins = self.run, self.run.plan, self._bins
        lengths, volumes = (self._sizes / plan.length).T
        per_sample = (self._found / 2**BITS).astype(float) / plan.length
        volume = (volumes / bins)[:, None]
        count, mass = per_sample[..., COUNT], per_sample[..., MASS]
        conserved = not (run.fixed.any() or run.engine.moves_centre)
        freedom = 3.0 * (per_sample[..., FREE] - conserved * mass / run.engine.masses.sum())
        with np.errstate(invalid="ignore", divide="ignore"):
            warm = np.where(freedom > 0.0, per_sample[..., KINETIC] / freedom / KB, np.nan)
        stress = -per_sample[..., STRESS:COLUMNS] / volume[..., None] / units.GPA
        if not run.engine.forcefield.has_virial:
            stress[:] = np.nan
        letter = plan.profile_axis
        place = lengths.mean() * (np.arange(bins) + 0.5) / bins
        columns = {
            "density_g_cm3": mean_of(mass / volume * _GRAMS),
            "atoms_per_A3": mean_of(count / volume),
            "temperature_K": _of_blocks(warm),
            **{f"stress_{axis}{axis}_GPa": mean_of(stress[..., a]) for a, axis in enumerate("xyz")},
        }
        table: dict[str, Array] = {f"{letter}_A": place}
        for name, mean in columns.items():
            table |= {name: mean.value, f"error_{name}": mean.error}
        result = Result([table], [], [("profile", f"{bins} bins of {place[0] * 2:.3g} Å along {letter}")])
        missing = run.engine.n_atoms - count.sum(axis=1).mean()
        if missing > 0.5:
            result.notes.append(
                f"profile: {missing:.3g} atoms are outside of the cell along {letter}, not periodic; "
                "they are in no bin"
            )
        shown = [
            ("temperature (K)", {"": columns["temperature_K"]}),
            ("density (g/cm³)", {"": columns["density_g_cm3"]}),
            ("stress (GPa)", {f"{a}{a}": columns[f"stress_{a}{a}_GPa"] for a in "xyz"}),
        ]
        for label, means in shown:
            lines = {name: band(mean) for name, mean in means.items()}
            if all(np.isfinite(line).any() for line, _ in lines.values()):
                result.panels.append(
                    partial(_panel, x=place, lines=lines, x_label=f"{letter} (Å)", y_label=label)
                )
        return result


def _panel(axis: "Axes", x: Array, lines: Lines, x_label: str, y_label: str) -> None:
    curves(axis, x, lines, x_label, y_label)


def _of_blocks(values: Array) -> Mean:
    """Mean over blocks, of each bin those in which it has atoms."""
    there = np.isfinite(values)
    if there.all():
        return mean_of(values)
    means = [
        mean_of(column[one]) if one.any() else Mean(np.nan, np.nan, 0)
        for column, one in zip(values.T, there.T, strict=True)
    ]
    return Mean(np.array([m.value for m in means]), np.array([m.error for m in means]), len(values))


def _direction(cell: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """(3,) 1/angstrom, whose product with a position is the fraction along a cell vector."""
    return np.asarray(np.linalg.inv(cell)[:, axis], np.float64)
