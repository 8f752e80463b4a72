"""What msd and vacf share: the moving atoms of a run or of a trajectory.

All is relative to the centre of mass, whose motion is neither diffusion nor vibration; with fixed atoms,
which tie it to the laboratory, relative to that. Fixed atoms do not count.
"""

from typing import Any

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.saved import blocks_of
from taichimd.core.units import KB, PS
from taichimd.estimators.motion import without_drift
from taichimd.observables.observed_run import ObservedRun
from taichimd.observables.trajectory import FEWEST, Trajectory

_FASTEST = 10.0
"""Times the thermal speed along one direction: one atom in 1e23 is faster."""


class Motion:
    """Sampler of a run: displacements and velocity products of each block, on the device.

    `msd`, `vacf`: of the blocks so far, (lags + 1, species, 3) each, in Å² and (Å / internal time)².
    """

    def __init__(self, run: ObservedRun) -> None:
        from taichimd.observables.samplers.time_correlation import TimeCorrelation

        self._run, plan, groups = run, run.plan, run.kinds
        if run.fixed.any():
            # Fixed atoms are a group of their own, which no result counts.
            groups = np.where(run.fixed, len(run.species), groups).astype(np.int32)
            left_out = [name for name, count in zip(run.species, run.n_free, strict=True) if count == 0]
            run.notes.append(
                _of_the_moving("msd and vacf", run.fixed)
                + (f"; nothing of {', '.join(left_out)} moves" if left_out else "")
            )
        self._correlation = TimeCorrelation(
            groups, int(groups.max()) + 1, plan.lags, plan.origin_every, _farthest(run),
            precision=run.engine.precision,
        )  # fmt: skip
        self._first = plan.samples - plan.blocks * plan.length
        self.msd: list[Array] = []
        self.vacf: list[Array] = []

    def sample(self, state: Any, energies: Any, virials: Any, centre: Any) -> None:
        """Add one sample, and end the block that it fills."""
        if self._run.taken < self._first:
            return
        self._correlation.sample(state, centre)
        if self._correlation.samples == self._run.plan.length:
            msd, vacf, _ = self._correlation.results()
            self.msd.append(msd)
            self.vacf.append(vacf)
            self._correlation.clear()

    def save(self) -> dict[str, Any]:
        """What a checkpoint must keep."""
        return {**self._correlation.save(), "msd": np.array(self.msd), "vacf": np.array(self.vacf)}

    def load(self, saved: dict[str, Any]) -> None:
        """Continue from what `save` gave."""
        self._correlation.load(saved)
        shape = self._correlation.results()[0].shape
        # Groups of which no atom moves have no mean.
        self.msd, self.vacf = (blocks_of(saved, name, "f", shape, finite=False) for name in ("msd", "vacf"))


def _farthest(run: ObservedRun) -> float:
    """Angstrom that no atom moves within the window, even in the ballistic regime."""
    bath, masses = run.engine.ensemble, run.engine.masses
    warm = [float((masses[:, None] * run.engine.velocities() ** 2).sum()) / (3.0 * run.n_free.sum())]
    warm += [KB * (getattr(bath, key, 0.0) or 0.0) for key in ("temperature", "final_temperature")]
    fastest = _FASTEST * float(np.sqrt(max(warm) / masses.min()))
    return max(100.0, fastest * run.plan.lags * run.plan.interval * PS)


def _of_the_moving(names: str, fixed: Any) -> str:
    return (
        f"{names} count the atoms that move, without {fixed.sum():,} fixed atoms, relative to the laboratory"
    )


def missing_motion(trajectory: Trajectory, velocities: bool = False) -> str:
    """Why a trajectory tells nothing of motion; empty if it does."""
    frames = trajectory.frames
    if frames.fixed.all():
        return "needs atoms that are not fixed"
    if len(frames.positions) < FEWEST:
        return f"needs {FEWEST} frames or more, the file has {len(frames.positions)}"
    if not frames.ordered:
        return (
            "needs the ids of the atoms, which the dump does not have: atoms may change places between frames"
        )
    if velocities and frames.velocities is None:
        return "needs velocities (ASE's momenta) in every frame"
    if trajectory.uneven or trajectory.interval is not None:
        return trajectory.uneven
    if frames.clock is not None and frames.times is None:
        return (
            "needs the time between frames: the file numbers them by steps, so give --timestep 1fs, or "
            "--interval 10fs"
        )
    return "needs the time between frames, which the file does not say: give --interval 10fs"


def relative(trajectory: Trajectory, values: Array) -> Array:
    """Positions or velocities relative to the centre of mass, or, with one or fixed atoms, as they are."""
    frames = trajectory.frames
    if frames.fixed.any():
        note = _of_the_moving("MSD and VACF", frames.fixed)
        if note not in trajectory.notes:
            trajectory.notes.append(note)
        return values
    return without_drift(values, frames.masses) if len(frames.symbols) > 1 else values
