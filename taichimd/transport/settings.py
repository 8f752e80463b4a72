"""What decides a thermal conductivity, checked before anything runs."""

import re
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, FiniteFloat

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
_LENGTH = re.compile(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(nm|A|Å)\s*")


def _lengths(value: Any) -> Any:
    """Angstrom of a text such as "10nm,20nm"; as it is where it cannot be read."""
    if not isinstance(value, str):
        return tuple(value) if isinstance(value, list) else value
    found = [_LENGTH.fullmatch(one) for one in value.split(",")]
    if None in found:
        return value
    return tuple(float(one[1]) * (10.0 if one[2] == "nm" else 1.0) for one in found if one is not None)


def _numbers(value: Any) -> Any:
    """Numbers of a text such as "27,81"; as it is where it cannot be read."""
    if not isinstance(value, str):
        return tuple(value) if isinstance(value, list) else value
    try:
        return tuple(float(one) for one in value.split(","))
    except ValueError:
        return value


Lengths = Annotated[
    tuple[Annotated[FiniteFloat, Field(gt=0)], ...],
    BeforeValidator(_lengths),
    Values('lengths with their unit, such as "10nm,20nm,40nm"', "lengths"),
]
Places = Annotated[
    tuple[FiniteFloat, ...], BeforeValidator(_numbers), Values('places (Å), such as "27.2,81.5"', "places")
]
Table = Annotated[str, Values("a file", "file")]
Selection = Annotated[str, Values('a selection of atoms, such as "x < 20"', "selection")]
Power = Annotated[
    float, Field(gt=0, allow_inf_nan=False), Values("a number above 0 (eV/ps)", "eV/ps", option=float)
]
OF_NEMD: dict[str, Any] = {
    "along": "x",
    "difference": None,
    "bath": "langevin",
    "bath_length": None,
    "hot": None,
    "cold": None,
    "power": None,
    "coupling_time": None,
    "interface": None,
    "lengths": None,
    "profile_bin": 5.0,
}
"""Settings of NEMD, with what they are if they are not given."""
_EQUILIBRIUM = ("green-kubo", "interface")
_ONLY: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(OF_NEMD, ("nemd",)),
    **dict.fromkeys(("along", "interface"), ("nemd", "interface")),
    **dict.fromkeys(("driving_force", "direction"), ("hnemd",)),
    "plateau": _EQUILIBRIUM,
}
"""Settings that some methods have, and these methods."""


@dataclass(frozen=True)
class KappaSettings(Settings):
    """Settings of `taichimd.transport.kappa.thermal_conductivity`.

    Lengths of time are numbers in fs, or texts with a unit such as "20ps". The types of the fields name the
    units of other numbers. `taichimd kappa --help` says what each means.

    Raises:
        SettingsError: a value that makes no sense, or a window that leaves too little of the run.
    """

    temperature: types.Kelvin = setting(MISSING, "Temperature of the runs")
    method: Literal["green-kubo", "hnemd", "nemd", "interface"] = setting(
        "green-kubo",
        "green-kubo: from fluctuations in equilibrium; hnemd: from the response to a driving force, for "
        "solids; nemd: from the heat that flows between a hot and a cold bath; interface: conductance of an "
        "interface, from fluctuations of the heat flow through it",
    )
    supercell: types.Repetitions = setting((1, 1, 1), "Repetitions of the structure, such as 4 4 4")
    runs: types.Count = setting(5, "Number of independent runs; their scatter gives the error")
    equilibrate: types.Duration = setting("20ps", "Equilibration of each run, with a Langevin thermostat")
    time: types.Duration = setting("500ps", "Length of each run after the equilibration")
    window: types.Duration | None = setting(
        None,
        "Longest correlation time; for hnemd and nemd the time at the start to leave out; default a tenth of "
        "--time, for nemd a quarter",
    )
    plateau: types.TwoTimes | None = setting(
        None,
        'Times between which the Green-Kubo integral is averaged: "40ps,60ps"; default the second half of '
        "the window",
    )
    stacie: types.Flag = setting(
        False, "Also estimate kappa of green-kubo by the package STACIE, which needs no window"
    )
    every: types.Steps = setting(10, "Steps between samples of the heat current")
    timestep: types.Femtoseconds = setting(1.0, "Time step")
    seed: FirstSeed = setting(1, "Seed from which the seed of each run is derived")
    driving_force: PerAngstrom | None = setting(
        None, "Driving force of hnemd, small enough for a linear response (--check-force); default 1e-4"
    )
    check_force: types.Flag = setting(
        False,
        "Also do as many runs of hnemd with half of the driving force, and say whether kappa is the same "
        "within errors",
    )
    direction: Literal["x", "y", "z", "xyz"] | None = setting(
        None,
        "Direction of the driving force of hnemd: x, y or z; xyz: runs take x, y and z in turn, for a cubic "
        "crystal or a glass; default x",
    )
    backend: types.Backend = shared("backend")
    precision: types.Precision = shared("precision")
    decomposition: types.Decomposition = shared("decomposition")
    at_once: types.Count | None = setting(
        None,
        "Runs in one launch, bitwise identical to single runs; default as many as keep a GPU busy, on a "
        "CPU 1",
    )
    thickness: types.Angstrom | None = setting(
        None, "Thickness of a sheet in the plane of x and y; kappa is then the mean of x and y"
    )
    along: Literal["x", "y", "z"] | None = setting(
        None,
        "Direction of the heat flow of nemd and interface, normal to the other two cell vectors; default x",
    )
    difference: types.Kelvin | None = setting(
        None, "Temperature of the hot bath minus temperature of the cold bath of nemd, around --temperature"
    )
    bath: Literal["langevin", "nose-hoover", "power"] | None = setting(
        None, "Baths of nemd: langevin, nose-hoover, or power (constant, with --power); default langevin"
    )
    bath_length: types.Angstrom | None = setting(
        None,
        "Length of each bath of nemd; in a periodic cell the hot bath is at 0, the cold bath at its half",
    )
    hot: Selection | None = setting(None, 'Atoms of the hot bath, such as "x < 20", instead of --bath-length')
    cold: Selection | None = setting(None, "Atoms of the cold bath")
    power: Power | None = setting(None, "Heat per time that the hot bath gives and the cold bath takes")
    coupling_time: types.Duration | None = setting(None, "Coupling time of the baths of nemd; default 500fs")
    interface: Places | None = setting(
        None,
        "Places of interfaces along the axis: temperature jumps of nemd; of interface one place, or two in a "
        "cell that is periodic along the axis",
    )
    lengths: Lengths | None = setting(
        None, "Several lengths between the baths of nemd, to which the structure is repeated along the axis"
    )
    profile_bin: types.Angstrom | None = setting(
        None, "Approximate width of the bins of the temperature profile of nemd; default 5"
    )

    spectrum: types.Flag = setting(
        False, "Resolve the conductivity of hnemd, or the conductance of nemd, by frequency"
    )
    spectrum_window: types.Duration | None = setting(
        None, "Longest correlation time of the spectrum; its inverse is the resolution; default 1ps"
    )
    ballistic: Table | None = setting(
        None,
        "spectrum.csv of a short nemd with --spectrum, whose G(w) gives mean free paths and kappa(L) of "
        "hnemd with --spectrum",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_spectrum()
        self._check_method()
        self._check_directions()
        self._check_interface()
        self._check_baths()
        self._check_sheet()
        self._check_window()

    def _check_method(self) -> None:
        driven = {"driving_force": 1e-4, "direction": "x"} if self.method == "hnemd" else {}
        own = driven if self.method != "nemd" else {**OF_NEMD, "coupling_time": 500.0}
        if self.method == "interface":
            own = {"along": "x"}
        for key, default in own.items():
            if getattr(self, key) is None:
                object.__setattr__(self, key, default)
        for key, methods in _ONLY.items():
            if self.method not in methods and getattr(self, key) is not None:
                raise mistake(f"{key} = {getattr(self, key)}: {self.method} does not use it; leave it out")

    def _check_spectrum(self) -> None:
        if self.stacie and self.method != "green-kubo":
            raise mistake(f"stacie: {self.method} has no Green-Kubo integral of J; leave it out")
        if self.spectrum and self.method in _EQUILIBRIUM:
            raise mistake(
                "spectrum: in equilibrium the mean heat current is zero, and so is its spectrum; "
                "choose method hnemd or nemd"
            )
        if self.spectrum and self.bath == "power":
            raise mistake(
                "spectrum: a conductance by frequency needs difference and the bath langevin or "
                "nose-hoover, not power"
            )
        if self.ballistic is not None and not (self.spectrum and self.method == "hnemd"):
            raise mistake("ballistic: mean free paths need kappa(w); choose method hnemd, and give spectrum")
        if self.spectrum_window is not None and not self.spectrum:
            raise mistake("spectrum_window: also give spectrum")

    def _check_directions(self) -> None:
        if self.check_force and self.method != "hnemd":
            raise mistake(f"check_force: {self.method} has no driving force; choose method hnemd")
        if self.direction == "xyz" and self.runs % 3:
            raise mistake(f"direction = 'xyz': expected a multiple of three runs, got {self.runs}")

    def _check_interface(self) -> None:
        if self.method != "interface":
            return
        if self.interface is None or len(self.interface) > 2:
            raise mistake(
                "method = interface: expected one place of an interface, or two in a cell that is periodic "
                "along the axis, such as --interface 27.2,81.5"
            )
        if self.thickness is not None and self.along == "z":
            raise mistake("along = 'z' is across the sheet (thickness): expected x or y")

    def _check_baths(self) -> None:
        if self.method != "nemd":
            return
        if (self.hot is None) != (self.cold is None):
            raise mistake("only one of hot and cold is given; give both, or neither")
        if (self.hot is None) == (self.bath_length is None):
            raise mistake(
                "method = nemd: expected either bath_length, such as --bath-length 20, or hot and cold"
            )
        if self.thickness is not None and self.along == "z":
            raise mistake("along = 'z' is across the sheet (thickness): expected x or y")
        if self.lengths is not None:
            self._check_lengths(self.lengths)
        self._check_power()

    def _check_lengths(self, lengths: tuple[float, ...]) -> None:
        if self.hot is not None:
            raise mistake(
                "lengths: taichimd places the baths of each length; give bath_length, not hot and cold"
            )
        if len(set(lengths)) != len(lengths):
            raise mistake(f"lengths = {lengths}: expected lengths that differ")
        if self.supercell[AXES.index(self.along or "x")] != 1:
            raise mistake(
                f"lengths: the structure is repeated along {self.along}; expected a 1 there in supercell"
            )

    def _check_power(self) -> None:
        if self.bath == "power":
            if self.power is None:
                raise mistake("bath = power: also give power, such as --power 0.5 (eV/ps)")
            if self.difference is not None:
                raise mistake("difference: the temperatures follow from the power; leave difference out")
        elif self.difference is None:
            raise mistake("method = nemd: expected difference, such as --difference 40 (K)")
        elif self.power is not None:
            raise mistake(f"power = {self.power:g}: also give bath = power")
        elif self.difference >= 2.0 * self.temperature:
            raise mistake(
                f"difference = {self.difference:g}: the cold bath would have "
                f"{self.temperature - self.difference / 2:g} K; expected less than twice the temperature"
            )

    @property
    def bath_temperatures(self) -> tuple[float, float]:
        """Temperatures of the hot and of the cold bath, K."""
        half = 0.5 * (self.difference or 0.0)
        return self.temperature + half, self.temperature - half

    def _check_sheet(self) -> None:
        if self.thickness is None:
            return
        if self.method == "hnemd" and self.direction in ("z", "xyz"):
            raise mistake(f"direction = {self.direction!r} is across the sheet (thickness): expected x or y")
        if self.supercell[2] != 1:
            raise mistake(f"supercell = {self.supercell}: a sheet (thickness) repeats only along x and y")

    def _check_window(self) -> None:
        from taichimd.estimators.average import MIN_INDEPENDENT
        from taichimd.observables.trajectory import TWO_ORIGINS

        samples, interval = self.steps // self.every + 1, self.every * self.timestep
        fewest, leaves = 2, TWO_ORIGINS
        if self.method not in _EQUILIBRIUM:
            fewest, leaves = MIN_INDEPENDENT, f"{MIN_INDEPENDENT} samples after it, for an error"
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
                f"plateau = {self.plateau[0]:g} to {self.plateau[1]:g} fs: expected two times in rising "
                f"order within the window of {self.window_fs:g} fs"
            )

    @property
    def steps(self) -> int:
        """Steps of a run."""
        return round(self.time / self.timestep)

    @property
    def window_fs(self) -> float:
        """Window, or its default."""
        if self.window is None:
            return (0.25 if self.method == "nemd" else 0.1) * self.time
        return self.window

    @property
    def lags(self) -> int:
        """Samples that the window spans."""
        return round(self.window_fs / (self.every * self.timestep))

    def seed_of(self, run: int, case: int = 0) -> int:
        """Seed of velocities and noise of a run, from 0, of one of several lengths, or driving forces."""
        what: dict[str, Any] = {"length": case + 1} if self.lengths else {"force": "half"} if case else {}
        return derived_seed(self.seed, {"run": run + 1, **what})

    @property
    def of_half_force(self) -> "KappaSettings":
        """The same with half of the driving force."""
        return replace(self, driving_force=(self.driving_force or 0.0) / 2)

    @property
    def all_runs(self) -> int:
        """How many runs there are, of all lengths or driving forces."""
        return self.runs * len(self.lengths or "1") * (1 + self.check_force)

    def direction_of(self, run: int) -> int:
        """Axis (0, 1 or 2) of the driving force of a run, from 0."""
        return run % 3 if self.direction == "xyz" else AXES.index(self.direction or "x")

    def force_of(self, run: int) -> tuple[float, float, float]:
        """(3,) 1/angstrom, of a run of hnemd."""
        size = self.driving_force or 0.0
        x, y, z = (size * (axis == self.direction_of(run)) for axis in range(3))
        return x, y, z

    @property
    def axes(self) -> tuple[str, ...]:
        """Along which heat is conducted."""
        return AXES if self.thickness is None else AXES[:2]

    def of_one_run(self) -> Mapping[str, Any]:
        """What decides the samples of a run: with these the same, a finished run need not be repeated."""
        left_out = {"runs", "window", "plateau", "backend", "decomposition", "thickness", "at_once"}
        left_out |= {"check_force", "ballistic", "stacie"}
        if not self.spectrum:
            left_out |= {"spectrum", "spectrum_window"}
        elif self.method == "hnemd":
            left_out -= {"window"}
        if self.method != "hnemd":
            left_out |= {"driving_force", "direction"}
        if self.method == "nemd":
            # The window begins the samples; interfaces only divide the profile.
            left_out = (left_out - {"window"}) | {"lengths", "interface"}
        else:
            left_out |= OF_NEMD.keys() - ({"along", "interface"} if self.method == "interface" else set())
        return {k: v for k, v in asdict(self).items() if k not in left_out} | {
            "supercell": list(self.supercell)
        }
