"""What decides a thermal conductivity, checked before anything runs."""

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from taichimd.core.seeds import derived_seed
from taichimd.settings import types
from taichimd.settings.declared import Settings, setting
from taichimd.settings.run import shared
from taichimd.settings.types import Values, mistake

AXES = ("x", "y", "z")
FirstSeed = Annotated[int, Field(ge=0, lt=2**62), Values("a whole number, 0 or above", option=int)]
PerAngstrom = Annotated[
    float, Field(gt=0, allow_inf_nan=False), Values("a number above 0 (1/Å)", "1/Å", option=float)
]


@dataclass(frozen=True)
class KappaSettings(Settings):
    """Of `taichimd.transport.kappa.thermal_conductivity`.

    Lengths of time are numbers in fs, or texts with a unit such as "20ps". The types of the fields name the
    units of other numbers. `taichimd kappa --help` says what each means.

    Raises:
        SettingsError: a value that makes no sense, or a window that leaves too little of the run.
    """

    temperature: types.Kelvin = setting(MISSING, "Temperature of the runs")
    method: Literal["green-kubo", "hnemd"] = setting(
        "green-kubo",
        "green-kubo: from fluctuations in equilibrium; hnemd: from the response to a driving force, for "
        "solids",
    )
    supercell: types.Repetitions = setting((1, 1, 1), "Repetitions of the structure, such as 4 4 4")
    runs: types.Count = setting(5, "Number of independent runs; their scatter gives the error")
    equilibrate: types.Duration = setting("20ps", "Equilibration of each run, with a Langevin thermostat")
    time: types.Duration = setting("500ps", "Length of each run after the equilibration")
    window: types.Duration | None = setting(
        None,
        "Longest correlation time; for hnemd the time at the start to leave out; default a tenth of --time",
    )
    plateau: types.TwoTimes | None = setting(
        None,
        'Times between which the Green-Kubo integral is averaged: "40ps,60ps"; default the second half of '
        "the window",
    )
    every: types.Steps = setting(10, "Steps between samples of the heat current")
    timestep: types.Femtoseconds = setting(1.0, "Time step")
    seed: FirstSeed = setting(1, "Seed from which the seed of each run is derived")
    driving_force: PerAngstrom | None = setting(
        None,
        "Driving force of hnemd; halve it to see whether the response is linear; default 1e-4",
    )
    direction: Literal["x", "y", "z"] | None = setting(
        None, "Direction of the driving force of hnemd; default x"
    )
    backend: types.Backend = shared("backend")
    precision: types.Precision = shared("precision")
    decomposition: types.Decomposition = shared("decomposition")
    at_once: types.Count | None = setting(
        None,
        "Runs of green-kubo in one launch, bitwise identical to single runs; default as many as keep a GPU "
        "busy, on a CPU 1",
    )
    thickness: types.Angstrom | None = setting(
        None, "Thickness of a sheet in the plane of x and y; kappa is then the mean of x and y"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_method()
        self._check_sheet()
        self._check_window()

    def _check_method(self) -> None:
        driven = {"driving_force": 1e-4, "direction": "x"} if self.method == "hnemd" else {}
        for key, default in driven.items():
            if getattr(self, key) is None:
                object.__setattr__(self, key, default)
        for key in ("plateau",) if driven else ("driving_force", "direction"):
            if getattr(self, key) is not None:
                raise mistake(f"{key} = {getattr(self, key)}: {self.method} has no use for it; leave it out")

    def _check_sheet(self) -> None:
        if self.thickness is None:
            return
        if self.method == "hnemd" and self.direction == "z":
            raise mistake("direction = 'z' is across the sheet (thickness): expected x or y")
        if self.supercell[2] != 1:
            raise mistake(f"supercell = {self.supercell}: a sheet (thickness) repeats along x and y alone")

    def _check_window(self) -> None:
        from taichimd.estimators.average import MIN_INDEPENDENT
        from taichimd.observables.trajectory import TWO_ORIGINS

        samples, interval = self.steps // self.every + 1, self.every * self.timestep
        fewest, leaves = 2, TWO_ORIGINS
        if self.method == "hnemd":
            fewest, leaves = MIN_INDEPENDENT, f"{MIN_INDEPENDENT} samples behind it, for an error"
        longest = samples - fewest
        if longest < 1:
            raise mistake(
                f"time = {self.time:g} fs: expected {fewest + 1} samples or more, {self.every} "
                f"steps of {self.timestep:g} fs apart; lengthen the time"
            )
        if not 1 <= self.lags <= longest:
            raise mistake(
                f"window = {self.window_fs / 1000:g} ps: expected one sample ({interval:g} fs) or more, and "
                f"{longest * interval / 1000:g} ps at most, which leaves the run {leaves}; choose another "
                "window or lengthen the time"
            )
        if self.plateau is not None and not 0 <= self.plateau[0] < self.plateau[1] <= self.window_fs:
            raise mistake(
                f"plateau = {self.plateau[0]:g} to {self.plateau[1]:g} fs: expected two times in "
                "rising order "
                f"within the window of {self.window_fs:g} fs"
            )

    @property
    def steps(self) -> int:
        """Of a run."""
        return round(self.time / self.timestep)

    @property
    def window_fs(self) -> float:
        """Window, or its default."""
        return 0.1 * self.time if self.window is None else self.window

    @property
    def lags(self) -> int:
        """Samples that the window spans."""
        return round(self.window_fs / (self.every * self.timestep))

    def seed_of(self, run: int) -> int:
        """Seed of velocities and noise of a run, from 0."""
        return derived_seed(self.seed, {"run": run + 1})

    @property
    def force(self) -> tuple[float, ...]:
        """(3,) 1/angstrom, of hnemd."""
        size = self.driving_force or 0.0
        return tuple(size * (axis == self.direction) for axis in AXES)

    @property
    def axes(self) -> tuple[str, ...]:
        """Along which heat is conducted."""
        return AXES if self.thickness is None else AXES[:2]

    def of_one_run(self) -> Mapping[str, Any]:
        """What decides the samples of a run: with these the same, a finished run need not be repeated."""
        left_out = {"runs", "window", "plateau", "backend", "decomposition", "thickness", "at_once"}
        if self.method == "green-kubo":
            left_out |= {"driving_force", "direction"}
        return {k: v for k, v in asdict(self).items() if k not in left_out} | {
            "supercell": list(self.supercell)
        }
