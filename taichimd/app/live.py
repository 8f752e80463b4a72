"""Observation of a running simulation: samples on the device, results as `taichimd analyze` writes them.

    plan = make_plan(("rdf", "heat"), simulation.step, 10_000, timestep=1.0, every=10)
    observations = Observations(simulation.engine, plan)
    simulation.run(10_000, samplers=[observations])
    observations.write(Path("results"), "argon")

Nothing of the size of the atoms comes to the host: distances are counted, displacements and velocity products
added up, and heat current and stress summed on the device. Correlations are those of `estimators`,
within equal blocks of the run. All is relative to the centre of mass, whose motion is neither diffusion, nor
vibration, nor heat; with fixed atoms, which tie it to the laboratory, relative to that.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from taichimd.app.observer import Sampler
from taichimd.app.simulated_system import SimulatedSystem
from taichimd.core.errors import AnalysisError, CheckpointError, SettingsError
from taichimd.core.markup import Html, facts, joined, section
from taichimd.core.saved import saved_array
from taichimd.observables.observable import Result, Rows
from taichimd.observables.observed_run import ObservedRun
from taichimd.observables.plan import Plan
from taichimd.observables.planning import check_forcefield, check_system, observables_of, saved_plan
from taichimd.observables.samplers.joint import Joint, Lent, Sample
from taichimd.program.totals import LABORATORY
from taichimd.system.groups import Numbers
from taichimd.system.velocities import drift_share

if TYPE_CHECKING:
    from taichimd.program.system import System

_STILL = 1e-12
"""Share of the kinetic energy: a centre of mass with less is at rest, but for rounding."""
_EARLIER = {"counts": "radial.blocks", "blocks.msd": "motion.msd", "blocks.vacf": "motion.vacf"}
"""Names in earlier checkpoints."""


class Observations(Sampler):
    """Everything that a plan asks of one run.

    Args:
        engine: of the run, velocities set.
        plan: see `taichimd.observables.planning.make_plan`.
        groups: numbers of atoms by name, for `flow`.

    Raises:
        SettingsError: a cell or masses that do not allow what is asked.
        AnalysisError: more to keep than the device's samplers take.

    Attributes:
        plan: what it was made with.
        observables: by name.
        notes: what the reader should know.
        values: results as numbers (`Finding.entry`), once they are written.
        summaries: status and note of each observable, once they are written.
    """

    def __init__(self, engine: "System", plan: Plan, groups: Mapping[str, Numbers] | None = None) -> None:
        check_forcefield(plan, engine.forcefield)
        check_system(plan, engine.symbols, engine.masses, engine.cell, engine.pbc, engine.fixed)
        self.plan, self.every, self._seen = plan, plan.every, -1
        self._run = run = ObservedRun(engine, plan, groups)
        self.notes = run.notes
        self.values: dict[str, dict[str, Any]] = {}
        self.summaries: dict[str, dict[str, str]] = {}
        kinds = observables_of(plan)
        self.observables = {kind.name: kind(run) for kind in kinds}
        self._correlated = any(kind.correlated or kind.about_centre for kind in kinds)
        # Where it rests, looking for it in each sample would only cost time.
        drifting = drift_share(engine.masses, engine.velocities()) > _STILL or engine.moves_centre
        self._moving = engine.n_atoms > 1 and drifting and not run.fixed.any()
        spoilt = [kind.name for kind in kinds if kind.green_kubo]
        if spoilt and (engine.heats() or engine.drives()):
            raise SettingsError(
                f"observe = {', '.join(spoilt)}: baths of groups, forces or walls drive the system, and "
                "Green-Kubo needs equilibrium; observe a run without them"
            )
        if spoilt and engine.ensemble.deforms:
            raise SettingsError(
                f"observe = {', '.join(spoilt)}: the cell is deformed, and Green-Kubo needs equilibrium; "
                "observe a run without --stretch and --shear"
            )
        if spoilt and engine.ensemble.acts_on:
            self._say(
                spoilt,
                f"{', '.join(spoilt)}: {engine.ensemble.name} acts on the velocities, and so on correlations "
                "in time: equilibrate with it, then observe a restart with --ensemble nve",
                "under a thermostat",
            )

    @property
    def taken(self) -> int:
        """Samples so far."""
        return self._run.taken

    @property
    def complete(self) -> bool:
        """Whether every sample of the plan is there."""
        return self.taken == self.plan.samples

    def sample(self, simulation: SimulatedSystem) -> None:
        """Take one sample, unless the plan has not begun or is complete, or this step has been sampled."""
        self.sample_all([(self, simulation)])

    @classmethod
    def sample_all(cls, due: "Sequence[tuple[Observations, SimulatedSystem]]") -> None:
        """Take one sample of each system, as `sample`; those with the same samplers in one launch."""
        alike: dict[tuple[Any, ...], list[Observations]] = {}
        for one, simulation in due:
            if one._begins(simulation):
                run = one._run
                kinds = tuple((name, type(sampler)) for name, sampler in run.samplers.items())
                alike.setdefault((id(run.engine.systems), kinds), []).append(one)
        for each in alike.values():
            cls._take(each)

    def _begins(self, simulation: SimulatedSystem) -> bool:
        """Whether a sample is to be taken; it then counts as seen."""
        if simulation.step <= self._seen or simulation.step < self.plan.first_step or self.complete:
            return False
        if simulation.engine.error is not None:
            raise simulation.engine.error
        self._seen = simulation.step
        self._run.engine = simulation.engine  # a new one after molecules were inserted or deleted
        return True

    @staticmethod
    def _take(each: "Sequence[Observations]") -> None:
        """Take a sample of each; all have samplers of the same names and classes."""
        runs = [one._run for one in each]
        systems, numbers = runs[0].engine.systems, [run.engine.number for run in runs]
        lent, centres = Lent(*systems.lend()), [LABORATORY] * len(each)
        moving = [one._moving and one._correlated for one in each]
        if any(moving):
            found = systems.device.centres(lent.state)
            centres = [found[k] if moves else LABORATORY for k, moves in zip(numbers, moving, strict=True)]
        for name, first in runs[0].samplers.items():
            own = [run.samplers[name] for run in runs]
            if isinstance(first, Joint):
                first.sample_all(own, Sample(lent, numbers, centres))
                continue
            for run, sampler, centre in zip(runs, own, centres, strict=True):
                run.engine.observe(lambda *its, add=sampler.sample, centre=centre: add(*its, centre))
        for run in runs:
            run.volumes.append(run.engine.volume or np.nan)

    def _repr_html_(self) -> str:
        """What a notebook shows: the result of each observable, or how many samples are still missing."""
        if not self.complete:
            return facts([("samples", f"{self.taken:,} of {self.plan.samples:,}")])
        found = {name: one.result() for name, one in self.observables.items()}
        return joined(section(name, Html(one._repr_html_()), level=4) for name, one in found.items())

    def save(self) -> dict[str, Any]:
        """Arrays for a checkpoint."""
        saved: dict[str, Any] = {
            "plan": np.array(json.dumps(self.plan.to_json())),
            "taken": np.array([self.taken, self._seen]),
            "moving": np.array(self._moving),
            "volumes": np.array(self._run.volumes),
        }
        for name, sampler in self._run.samplers.items():
            saved |= {f"{name}.{key}": value for key, value in sampler.save().items()}
        return saved

    def load(self, saved: dict[str, Any]) -> None:
        """Continue from what `save` gave.

        Raises:
            AnalysisError: it is of another plan.
            CheckpointError: it is damaged.
        """
        if saved_plan(saved) != self.plan:
            raise AnalysisError("observations with a different plan cannot be continued")
        try:
            self._load(saved)
        except CheckpointError as error:
            raise CheckpointError(
                f"what the checkpoint has observed is damaged: {error}; continue from an earlier one, or "
                "without it: --observe none"
            ) from None

    def _load(self, saved: dict[str, Any]) -> None:
        taken, self._seen = (int(k) for k in saved_array(saved, "taken", "i", 2))
        if not 0 <= taken <= self.plan.samples:
            raise CheckpointError(f"{taken} samples are taken, expected at most {self.plan.samples}")
        # Of the samples that are there: earlier versions took all of them as they were.
        self._moving = "moving" in saved and bool(saved_array(saved, "moving", "b"))
        # Earlier versions took all samples as of the last cell.
        now = np.full(taken, self._run.engine.volume or np.nan)
        volumes = {"volumes": saved.get("volumes", now)}
        self._run.volumes = list(saved_array(volumes, "volumes", "f", taken, finite=False))
        saved = {_EARLIER.get(key, key): value for key, value in saved.items()}
        for name, sampler in self._run.samplers.items():
            sampler.load(
                {k.removeprefix(f"{name}."): v for k, v in saved.items() if k.startswith(f"{name}.")}
            )

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
        found = self.found()
        if self.plan.blocks == 1:
            self.notes.append("one block of samples: no errors; take a longer run, or a shorter window")
        notes = list(self.notes)
        rows: Rows = []
        for name, result in found.items():
            observable = self.observables[name]
            result.write([folder / file for file in observable.files(plot_format)], title)
            rows += result.rows
            self.values |= {key: one.entry() for key, one in result.values.items()}
            self.notes += result.notes
            own = [note for note in notes if name in note.split(":")[0].split(", ")]
            self.summaries[name] = replace(result, notes=own + result.notes).summary()
        return rows

    def found(self) -> dict[str, Result]:
        """Tables, rows of the summary and numbers of a complete run, by the names of observables.

        Raises:
            AnalysisError: samples are missing.
        """
        if not self.complete:
            raise AnalysisError(f"{self.taken} of {self.plan.samples} samples taken; the run is not complete")
        results = {name: observable.result() for name, observable in self.observables.items()}
        for name, result in results.items():
            result.doubt = self._run.doubts.get(name, "")
        return results

    def _say(self, kinds: list[str], note: str, doubt: str) -> None:
        """Note what spoils some observables."""
        self.notes.append(note)
        self._run.doubts |= dict.fromkeys(kinds, doubt)
