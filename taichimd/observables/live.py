"""Observation of a running simulation: samples on the device, results as `taichimd analyze` writes them.

    plan = make_plan(("rdf", "heat"), simulation.step, 10_000, timestep=1.0, every=10)
    observations = Observations(simulation.engine, plan)
    simulation.run(10_000, samplers=[observations])
    observations.write(Path("results"), "argon")

Nothing of the size of the atoms comes to the host: distances are counted, displacements and velocity products
added up, and heat current and stress summed on the device. Correlations are those of `estimators`,
within equal blocks of the run. All is relative to the centre of mass, whose motion is neither diffusion, nor
vibration, nor heat; with fixed atoms, which tie it to the laboratory, relative to that. Displacements and
velocities are those of atoms that are not fixed.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from taichimd.app.protocols import Array
from taichimd.app.simulation import Sampler
from taichimd.core.errors import AnalysisError
from taichimd.core.units import FS, KB, PS
from taichimd.io.analysis_files import write_table
from taichimd.observables.estimators.green_kubo import GreenKubo
from taichimd.observables.estimators.motion import DensityOfStates, fit_diffusion, spectrum
from taichimd.observables.estimators.transport import green_kubo_conductivity, green_kubo_viscosity
from taichimd.observables.plan import Plan, check_system, names_of
from taichimd.observables.quantities import normalised
from taichimd.observables.samplers.groups import Groups
from taichimd.observables.samplers.radial import RadialHistogram
from taichimd.observables.samplers.sum_series import SumSeries
from taichimd.observables.samplers.time_correlation import TimeCorrelation
from taichimd.observables.tables import (
    Rows,
    folding_notes,
    growth_notes,
    write_green_kubo,
    write_msd,
    write_rdf,
    write_vacf,
)
from taichimd.observables.values import (
    Values,
    diffusion_values,
    green_kubo_values,
    rdf_values,
    spectrum_values,
)
from taichimd.program.totals import LABORATORY, centre_of_mass
from taichimd.system.velocities import degrees_of_freedom, drift_share

if TYPE_CHECKING:
    from taichimd.app.simulation import Simulation
    from taichimd.program.engine import Engine

_STILL = 1e-12
"""Share of the kinetic energy: a centre of mass with less is at rest, but for rounding."""
_FASTEST = 10.0
"""Times the thermal speed along one direction: one atom in 1e23 is faster."""


class Observations(Sampler):
    """Everything that a plan asks of one run.

    Args:
        engine: of the run, velocities set.
        plan: see `taichimd.observables.plan.make_plan`.

    Raises:
        SettingsError: a cell or masses that do not allow what is asked.
        AnalysisError: more to keep than the device's samplers take.

    Attributes:
        plan: what it was made with.
        taken: samples so far.
        notes: what the reader should know.
        values: results as numbers, once they are written.
    """

    def __init__(self, engine: "Engine", plan: Plan) -> None:
        self.plan, self.every, self.taken = plan, plan.every, 0
        self.notes: list[str] = []
        self.values: Values = {}
        self._engine, self._seen = engine, -1
        self._species = sorted(set(engine.symbols))
        kinds = np.array([self._species.index(symbol) for symbol in engine.symbols], np.int32)
        self._numbers = np.bincount(kinds)
        self._masses = [np.unique(engine.masses[kinds == k]) for k in range(len(self._species))]
        check_system(plan, engine.symbols, engine.masses, engine.pbc, engine.fixed)
        fixed = np.zeros(len(kinds), bool) if engine.fixed is None else engine.fixed
        self._n_free = np.bincount(kinds[~fixed], minlength=len(self._species))
        self._groups = None
        n, n_kinds, precision = len(kinds), len(self._species), engine.precision
        wanted = set(plan.kinds)
        self._radial = (
            RadialHistogram(n, n_kinds, plan.r_max, plan.bins, precision) if "rdf" in wanted else None
        )
        self._motion = None
        if wanted & {"msd", "vacf"}:
            moving, n_groups = kinds, n_kinds
            if fixed.any():
                # Fixed atoms are a group of their own, which no result counts.
                moving, n_groups = np.where(fixed, n_kinds, kinds).astype(np.int32), n_kinds + 1
                self._groups = Groups(moving)
                self._note_fixed(int(fixed.sum()))
            self._motion = TimeCorrelation(
                moving, n_groups, plan.lags, plan.origin_every, self._farthest(), precision=precision
            )
        self._sums = {kind: SumSeries(what, n) for kind, what in _SUMS.items() if kind in wanted}
        self._volumes: list[float] = []
        # Counts up to the end of each block; msd and vacf of each block.
        self._counts: list[Any] = []
        self._blocks: dict[str, list[Any]] = {"msd": [], "vacf": []}
        self._ends = set(
            np.cumsum([len(part) for part in np.array_split(np.arange(plan.samples), plan.blocks)])
        )
        # Where it rests, looking for it in each sample would only cost time.
        share = drift_share(engine.masses, engine.velocities())
        drifting = share > _STILL or engine.ensemble.moves_centre
        self._moving = n > 1 and drifting and not fixed.any()
        self._note_bath()

    def _farthest(self) -> float:
        """Angstrom that no atom moves within the window, even if it flies freely."""
        engine, masses = self._engine, self._engine.masses
        bath = engine.ensemble
        warm = [float((masses[:, None] * engine.velocities() ** 2).sum()) / (3.0 * self._n_free.sum())]
        warm += [KB * (getattr(bath, key, 0.0) or 0.0) for key in ("temperature", "final_temperature")]
        fastest = _FASTEST * float(np.sqrt(max(warm) / masses.min()))
        return max(100.0, fastest * self.plan.lags * self.plan.interval * PS)

    def _note_fixed(self, n_fixed: int) -> None:
        left_out = [name for name, count in zip(self._species, self._n_free, strict=True) if count == 0]
        self.notes.append(
            f"msd and vacf are those of the atoms that move, without {n_fixed:,} fixed ones, "
            "relative to the laboratory" + (f"; nothing of {', '.join(left_out)} moves" if left_out else "")
        )

    def _note_bath(self) -> None:
        bath, kinds = self._engine.ensemble, [kind for kind in _SUMS if kind in self.plan.kinds]
        if kinds and bath.acts_on:
            self.notes.append(
                f"{', '.join(kinds)}: {bath.name} acts on the velocities, and so on correlations in time: "
                "equilibrate with it, then observe a restart with --ensemble nve"
            )

    @property
    def complete(self) -> bool:
        """Whether every sample of the plan is there."""
        return self.taken == self.plan.samples

    def sample(self, simulation: "Simulation") -> None:
        """Take one sample, unless this step has been sampled or the plan is complete."""
        if simulation.step <= self._seen or self.complete:
            return
        self._seen = simulation.step
        self._engine.observe(self._take)
        self.taken += 1
        if self._radial is not None and self.taken in self._ends:
            self._counts.append(self._radial.counts())
        start = self.plan.samples - self.plan.blocks * self.plan.length
        if self._motion is not None and self.taken > start and (self.taken - start) % self.plan.length == 0:
            msd, vacf, _ = self._motion.results()
            self._blocks["msd"].append(msd)
            self._blocks["vacf"].append(vacf)
            self._motion.clear()

    def _take(self, state: Any, energies: Any, virials: Any) -> None:
        self._volumes.append(self._engine.volume or np.nan)
        centre = centre_of_mass(state) if self._moving and self.plan.correlated else LABORATORY
        if self._radial is not None:
            self._radial.sample(state.pos, state.kind, state.ident, self._engine.cell)
        if self._motion is not None and self.taken >= self.plan.samples - self.plan.blocks * self.plan.length:
            kind = state.kind if self._groups is None else self._groups.placed(state.ident)
            self._motion.sample(state.pos, state.vel, kind, state.ident, centre)
        for series in self._sums.values():
            series.sample(state, energies, virials, centre)

    # Checkpoints.

    def save(self) -> dict[str, Any]:
        """Arrays for a checkpoint."""
        saved: dict[str, Any] = {
            "plan": np.array(json.dumps(self.plan.to_json())),
            "taken": np.array([self.taken, self._seen]),
            "moving": np.array(self._moving),
            "volumes": np.array(self._volumes),
            "counts": np.array(self._counts),
            **{f"blocks.{name}": np.array(values) for name, values in self._blocks.items()},
        }
        for name, sampler in self._samplers().items():
            saved |= {f"{name}.{key}": value for key, value in sampler.save().items()}
        return saved

    def load(self, saved: dict[str, Any]) -> None:
        """Go on from what `save` gave.

        Raises:
            AnalysisError: it is of another plan.
        """
        if saved_plan(saved) != self.plan:
            raise AnalysisError("observations of another plan cannot be continued")
        self.taken, self._seen = (int(k) for k in saved["taken"])
        # Of the samples that are there: earlier versions took all of them as they were.
        self._moving = bool(saved.get("moving", False))
        # Earlier versions took all samples as of the last cell.
        self._volumes = list(saved.get("volumes", np.full(self.taken, self._engine.volume or np.nan)))
        self._counts = list(saved["counts"])
        self._blocks = {name: list(saved[f"blocks.{name}"]) for name in self._blocks}
        for name, sampler in self._samplers().items():
            own = {k.removeprefix(f"{name}."): v for k, v in saved.items() if k.startswith(f"{name}.")}
            sampler.load(own)

    def _samplers(self) -> dict[str, Any]:
        there = {"radial": self._radial, "motion": self._motion, **self._sums}
        return {name: sampler for name, sampler in there.items() if sampler is not None}

    # Results.

    def series(self, kind: str) -> Array:
        """(samples, 7) sums of "heat" or "viscosity", see `SumSeries`."""
        return self._sums[kind].rows()

    def write(self, folder: Path, title: str, plot_format: str = "png") -> Rows:
        """Write tables and pictures of a complete run.

        Args:
            folder: that exists.
            title: of the pictures.
            plot_format: of the pictures: png, pdf or svg.

        Returns:
            Rows for the summary.

        Raises:
            AnalysisError: samples are missing.
            OutputError: a file cannot be written.
        """
        if not self.complete:
            raise AnalysisError(f"{self.taken} of {self.plan.samples} samples taken; the run is not complete")
        if self.plan.blocks == 1:
            self.notes.append("one block of samples: no errors; take a longer run, or a shorter window")
        rows: Rows = []
        for kind in self.plan.kinds:
            files = [folder / name for name in names_of(kind, plot_format)]
            rows += getattr(self, f"_write_{kind}")(files, title)
        return rows

    def _write_rdf(self, files: list[Path], title: str) -> Rows:
        before = [np.zeros_like(self._counts[0]), *self._counts[:-1]]
        counts = np.array(self._counts) - np.array(before)
        parts = np.array_split(np.arange(self.plan.samples), self.plan.blocks)
        sizes, volume = [len(part) for part in parts], 1.0 / float(np.mean(1.0 / np.array(self._volumes)))
        found = normalised(counts, sizes, self._species, self._numbers, self.plan.r_max, volume)
        self.values |= rdf_values(found)
        return write_rdf(found, files, title)

    def _write_msd(self, files: list[Path], title: str) -> Rows:
        msd = np.array(self._blocks["msd"])
        found = {name: fit_diffusion(msd[:, :, k], self._dt) for k, name in self._that_move()}
        self.values |= diffusion_values(found)
        return write_msd(found, files, title)

    def _write_vacf(self, files: list[Path], title: str) -> Rows:
        kinds = [k for k, _ in self._that_move()]
        vacf = np.array(self._blocks["vacf"])
        weights = self._n_free[kinds] * np.array([float(self._masses[k][0]) for k in kinds])
        correlations = {name: vacf[:, :, k] for k, name in self._that_move()}
        found: dict[str, DensityOfStates] = {
            name: spectrum(correlations[name].sum(axis=2), int(self._n_free[k]), self._dt)
            for k, name in self._that_move()
        }
        if len(found) > 1:
            found["all"] = spectrum(
                np.einsum("slkc,k->sl", vacf[:, :, kinds], weights), int(self._n_free.sum()), self._dt
            )
        self.notes += folding_notes(found, "take a smaller --observe-every")
        self.values |= spectrum_values(found)
        return write_vacf(correlations, found, self.plan.interval, files, title)

    def _write_heat(self, files: list[Path], title: str) -> Rows:
        rows = self.series("heat")
        names = [f"{part}_{axis}_eVA_per_fs" for part in ("potential", "kinetic") for axis in "xyz"]
        self._write_series(files[0], names, rows[:, :6] * FS)
        found = green_kubo_conductivity(
            rows[:, :3] + rows[:, 3:6], self._dt, float(np.mean(self._volumes)), self._temperature(rows),
            self._window, self._plateau, self.plan.blocks,
        )  # fmt: skip
        return self._write_green_kubo(found, ("x", "y", "z"), "kappa", "W/(m K)", files[1:], title)

    def _write_viscosity(self, files: list[Path], title: str) -> Rows:
        rows = self.series("viscosity")
        volumes = np.array(self._volumes)
        volume, stress = float(volumes.mean()), -rows[:, :6] / volumes[:, None]
        self._write_series(files[0], [f"{c}_eV_per_A3" for c in ("xx", "yy", "zz", "yz", "xz", "xy")], stress)
        found = green_kubo_viscosity(
            stress, self._dt, volume, self._temperature(rows), self._window, self._plateau, self.plan.blocks
        ).off_diagonal
        return self._write_green_kubo(found, ("xy", "xz", "yz"), "viscosity", "Pa s", files[1:], title)

    def _write_green_kubo(
        self,
        found: GreenKubo,
        names: tuple[str, ...],
        quantity: str,
        unit: str,
        files: list[Path],
        title: str,
    ) -> Rows:
        self.notes += growth_notes(found, quantity, "--observe-window")
        self.values |= green_kubo_values(found, names, quantity, unit)
        return write_green_kubo(found, names, quantity, unit, files, title)

    def _write_series(self, file: Path, names: list[str], values: Array) -> None:
        time: Array = self.plan.interval * np.arange(len(values), dtype=np.float64)
        write_table(file, {"time_ps": time, **{name: values[:, k] for k, name in enumerate(names)}})

    def _temperature(self, rows: Array) -> float:
        """Mean over the run, K."""
        return float(2.0 * rows[:, 6].mean() / (degrees_of_freedom(self._engine.n_atoms) * KB))

    def _that_move(self) -> list[tuple[int, str]]:
        """Numbers and symbols of the species of which some atom is not fixed."""
        return [(k, name) for k, name in enumerate(self._species) if self._n_free[k]]

    @property
    def _dt(self) -> float:
        return self.plan.interval * PS

    @property
    def _plateau(self) -> tuple[float, float]:
        """The second half of the window; the curves are there to choose better."""
        return self._dt * (self.plan.lags // 2), self._window

    @property
    def _window(self) -> float:
        return self.plan.lags * self._dt


_SUMS = {"heat": "heat", "viscosity": "stress"}


def saved_plan(saved: dict[str, Any]) -> Plan | None:
    """The plan of what a checkpoint keeps; None if it keeps nothing."""
    return Plan.from_json(json.loads(str(saved["plan"]))) if saved else None
