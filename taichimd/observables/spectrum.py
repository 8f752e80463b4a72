"""Heat current resolved by frequency, of all atoms or of groups."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import SettingsError
from taichimd.core.saved import saved_array
from taichimd.core.units import PS
from taichimd.estimators.blocks import block_note, with_note
from taichimd.estimators.series import Mean, mean_of
from taichimd.estimators.spectra import frequencies, spectrum
from taichimd.io.analysis_files import curves
from taichimd.observables.numbers import band, finding, plus_minus
from taichimd.observables.observable import Result, RunObservable
from taichimd.observables.observed_run import ObservedRun
from taichimd.observables.samplers.joint import Joint, Sample
from taichimd.observables.sides import atoms_of, named, sides_of
from taichimd.program.across import Between

if TYPE_CHECKING:
    from taichimd.forcefields.base import ForceField

_LOW = 40
"""Bits of a sum in the lower one of two numbers of a checkpoint."""
_STIFFEST = 1.8
"""Highest frequency of atoms over the root mean square frequency of their velocities, about."""
_CONVECTIVE = 0.01
"""Share of the current that moving atoms carry along, above which a note says so."""


class Spectrum(Joint, RunObservable):
    """J(w) of groups of atoms, whose integral over dw/2pi is the mean of the potential part of J."""

    about_centre = True
    name, tables, picture = "spectrum", ("spectrum", "spectrum_correlation"), "spectrum"

    def __init__(self, run: ObservedRun) -> None:
        from taichimd.observables.samplers.spectrum import SpectrumSums, cost

        super().__init__(run)
        plan = run.plan
        self._names = [one.strip() for one in plan.spectrum_of.split(",")]
        pairs = {k: sides_of(run, name, "spectrum_of") for k, name in enumerate(self._names) if ">" in name}
        self._interfaces = set(pairs)
        groups = [
            np.concatenate(pairs[k]) if k in pairs else atoms_of(run, name, "spectrum_of")
            for k, name in enumerate(self._names)
        ]
        entries = sum(len(one) for one in groups)
        self._sums = SpectrumSums(
            groups, "xyz".index(plan.spectrum_axis), plan.spectrum_lags,
            {k: Between(run.engine, *sides) for k, sides in pairs.items()},
        )  # fmt: skip
        self._found = np.full((plan.blocks, 3, plan.spectrum_lags, len(groups), 3), 0, object)
        # Pairs of samples of each lag and block.
        self._pairs = np.zeros((plan.blocks, plan.spectrum_lags), np.int64)
        run.samplers["spectrum"] = self
        run.notes.append(cost(entries, plan.spectrum_lags))

    @classmethod
    def check_forcefield(cls, forcefield: "ForceField") -> None:
        """Raise a PropertyError if its heat current is not known."""
        forcefield.check_heat_current()

    @classmethod
    def sample_all(cls, each: Sequence["Spectrum"], sample: Sample) -> None:
        """Add one sample to the block of each."""
        for one in each:
            if one.run.taken == 0:
                one._check_interval()
        sums = [one._sums for one in each]
        sums[0].sample_all(sums, sample)
        for one in each:
            one._added()

    def _added(self) -> None:
        """A sample is on the device."""
        plan, taken = self.run.plan, self.run.taken
        block = min(taken // plan.length, plan.blocks - 1)
        self._pairs[block, : min(taken + 1, plan.spectrum_lags)] += 1
        if taken + 1 == plan.samples or min((taken + 1) // plan.length, plan.blocks - 1) != block:
            self._found[block] += self._sums.take()

    def _check_interval(self) -> None:
        """Raise a SettingsError if samples are too far apart for the frequencies of the atoms."""
        engine, plan = self.run.engine, self.run.plan
        v, a = engine.velocities(), engine.forces() / engine.masses[:, None]
        highest = 0.0
        for kind in range(len(self.run.species)):
            own = self.run.kinds == kind
            speed = float((v[own] ** 2).sum())
            if speed > 0.0:
                highest = max(highest, _STIFFEST * np.sqrt(float((a[own] ** 2).sum()) / speed))
        nyquist, top = 0.5 / plan.interval, highest * PS / (2 * np.pi)
        if top > nyquist:
            raise SettingsError(
                f"samples {1000 * plan.interval:g} fs apart resolve frequencies up to {nyquist:.3g} THz, and "
                f"atoms vibrate with up to about {top:.3g} THz: higher frequencies would appear as lower "
                f"ones; expected samples {500 / top:.2g} fs apart or less (observe_every; every of kappa)"
            )

    def save(self) -> dict[str, Any]:
        """What a checkpoint must keep."""
        plan, taken = self.run.plan, self.run.taken
        if taken:
            self._found[min((taken - 1) // plan.length, plan.blocks - 1)] += self._sums.take()
        high, low = self._found >> _LOW, self._found & (2**_LOW - 1)
        own = {"high": high.astype(np.int64), "low": low.astype(np.int64), "pairs": self._pairs}
        return {**own, **self._sums.save()}

    def load(self, saved: dict[str, Any]) -> None:
        """Continue from what `save` gave."""
        high = saved_array(saved, "high", "i", *self._found.shape)
        low = saved_array(saved, "low", "i", *self._found.shape)
        self._found[:] = (high.astype(object) << _LOW) + low.astype(object)
        self._pairs[:] = saved_array(saved, "pairs", "i", *self._pairs.shape)
        self._sums.load(saved)

    def correlations(self) -> tuple[Array, Array, Array]:
        """K at t >= 0 and at t <= 0, and the convective part <sum E_i v_i>, eV angstrom/ps.

        Shapes are (blocks, lags, groups, 3) for K, and (blocks, groups).

        The last axis is the direction of the velocity, so the parts in and out of a plane are kept apart.
        """
        sums = (self._found / self._sums.scale).astype(float) * PS
        with np.errstate(invalid="ignore", divide="ignore"):
            each = sums[:, :2] / self._pairs[:, None, :, None, None]
            carried = sums[:, 2, 0, :, 0] / self._pairs[:, :1]
        # What is carried through an interface is in its heat flow.
        carried[:, sorted(self._interfaces)] = 0.0
        return each[:, 0], each[:, 1], carried

    @property
    def _unit(self) -> str:
        """Return the label of the picture's axis."""
        units = {"eV/ps" if k in self._interfaces else "eV Å/ps" for k in range(len(self._names))}
        return " or ".join(sorted(units, reverse=True))

    def result(self) -> Result:
        """Result of the run: spectra and correlations, errors from the blocks."""
        plan = self.run.plan
        plus, minus, carried = self.correlations()
        w = frequencies(plan.spectrum_lags, plan.interval)
        time = np.asarray(plan.interval * np.arange(1 - plan.spectrum_lags, plan.spectrum_lags), float)
        table: dict[str, Array] = {"frequency_THz": np.asarray(w / (2 * np.pi)), "w_rad_per_ps": w}
        series: dict[str, Array] = {"time_ps": time}
        result, lines = Result([table, series], [], []), {}
        for k, name in enumerate(named(one) for one in self._names):
            each = np.array(
                [
                    spectrum(p, m, plan.interval)
                    for p, m in zip(plus[..., k, :], minus[..., k, :], strict=True)
                ]
            )
            total, out = mean_of(each.sum(axis=-1)), mean_of(each[..., 2])
            table |= {f"J_{name}": total.value, f"error_J_{name}": total.error, f"J_{name}_out": out.value}
            both = np.concatenate([minus[:, :0:-1, k], plus[:, :, k]], axis=1).mean(axis=0)
            series |= {f"K_{name}": both.sum(axis=-1), f"K_{name}_out": both[:, 2]}
            lines[name if name != "all" or len(self._names) > 1 else ""] = band(total)
            current, moving = plus[:, 0, k].sum(axis=-1), carried[:, k]
            found = with_note(mean_of(current), block_note(current))
            if k in self._interfaces:
                result.values[f"flow_{name}"] = finding(found.value, found.error, "eV/ps", note=found.note)
                result.rows.append((f"heat flow {name}", f"{plus_minus(found)} eV/ps, the integral of J(w)"))
                continue
            result.values[f"current_{name}"] = finding(found.value, found.error, "eV Å/ps", note=found.note)
            result.rows.append((f"current {name}", f"{plus_minus(found)} eV Å/ps, the integral of J(w)"))
            share = mean_of(moving)
            result.values[f"convective_{name}"] = finding(share.value, share.error, "eV Å/ps")
            result.rows.append((f"convective {name}", f"{plus_minus(share)} eV Å/ps, not in J(w)"))
            if _matters(share, found):
                result.notes.append(
                    f"spectrum: atoms of {name} carry {plus_minus(share)} eV Å/ps along, "
                    f"{abs(share.value / found.value):.1%} of the current, which J(w) does not contain"
                )
        result.panels.append(
            partial(
                curves,
                x=table["frequency_THz"],
                lines=lines,
                x_label="frequency (THz)",
                y_label=f"J ({self._unit}/THz)",
            )
        )
        return result


def _matters(share: Mean, found: Mean) -> bool:
    """Whether what atoms carry along is above a hundredth of the current, and above its errors."""
    return abs(share.value) > max(_CONVECTIVE * abs(found.value), 2.0 * float(np.nan_to_num(share.error)))
