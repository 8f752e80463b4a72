"""Settings of a run by topic: the declarations of options, job files, records and Python.

A topic is a table of a job file, and a panel of `taichimd run --help`. Records (`run.json`, checkpoints) have
the names of options. The help of the command line needs this module, so it imports no NumPy.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from taichimd.core.strain_rates import SHEARED, STRETCHED, parse_rates
from taichimd.settings import types
from taichimd.settings.acting import ActingSettings
from taichimd.settings.declared import Settings, setting, settings_of
from taichimd.settings.output import OutputSettings
from taichimd.settings.types import mistake

if TYPE_CHECKING:
    from taichimd.ensembles.registry import Ensemble


@dataclass(frozen=True)
class SystemSettings(Settings, topic="system"):
    """Where a run starts."""

    structure: types.Structure | None = setting(
        None, "Structure file that ASE reads, checkpoint or folder of a run; or a TOML job file (*.toml)"
    )
    from_frame: types.FrameNumber | None = setting(
        None, "Frame of a trajectory to start from: 0 is the first, -1 the last (default)"
    )
    input_units: types.InputUnits | None = setting(
        None,
        "Units of LAMMPS data and dumps, and of velocities in a column of an XYZ file; default the units "
        "that the file states, or metal",
    )
    atom_style: types.AtomStyle | None = setting(
        None, "Atom style of a LAMMPS data file, if its line Atoms names no style"
    )
    velocities: Literal["auto", "file", "draw"] = setting(
        "auto",
        "auto: velocities of the structure, or drawn if it has none; file: velocities of the structure, "
        "which must have some; draw: drawn from the Maxwell-Boltzmann distribution, also in a restart",
    )
    restart: types.Restart | None = setting(
        None, "Checkpoint, or folder of a run, to continue; other settings come from the checkpoint"
    )


@dataclass(frozen=True)
class PotentialSettings(Settings, topic="potential"):
    """What acts between atoms."""

    file: types.Potential | None = setting(
        None,
        "Parameter file, shipped name (see taichimd potentials) or file.py:name; several are added up; "
        "options follow the name, as in CHO.ffield:charge_tolerance=1e-8",
        "potential",
    )


@dataclass(frozen=True)
class EnsembleSettings(Settings, topic="ensemble"):
    """What is held constant. Fields have the names of the arguments of the ensembles' classes."""

    name: Literal[
        "nve", "nvt-langevin", "nvt-berendsen", "nvt-bussi", "nvt-nose-hoover", "npt-berendsen", "npt-scr",
        "npt-mtk", "npt-berendsen-langevin", "npt-berendsen-bussi", "npt-berendsen-nose-hoover",
        "nph-berendsen",
        "npt-scr-langevin", "npt-scr-nose-hoover", "npt-mtk-langevin", "npt-mtk-nose-hoover",
    ] = setting("nve", "Ensemble, with its thermostat and barostat", "ensemble")  # fmt: skip
    temperature: types.Kelvin = setting(
        300.0, "Temperature of the thermostat and of drawn velocities; 300,400 makes two runs"
    )
    final_temperature: types.Kelvin | None = setting(
        None, "Temperature of the thermostat at the end of the run, after a linear ramp"
    )
    coupling_time: types.Femtoseconds = setting(100.0, "Coupling time of the thermostat")
    pressure: types.Pressure = setting(0.0, "Pressure of the barostat")
    final_pressure: types.Pressure | None = setting(
        None, "Pressure of the barostat at the end of the run, after a linear ramp"
    )
    pressure_coupling_time: types.Femtoseconds = setting(1000.0, "Coupling time of the barostat")
    bulk_modulus: types.Gigapascal = setting(
        50.0, "Estimate of the bulk modulus of the material; npt-mtk does not need it"
    )
    control: Literal["isotropic", "orthorhombic", "triclinic"] = setting(
        "isotropic", "How the cell may change", "cell_control"
    )
    axes: types.Axes = setting("xyz", 'Axes whose pressure is controlled, such as "xy"', "cell_axes")
    period: types.Steps = setting(
        10, "Steps between actions of the barostat; npt-mtk acts in each step", "barostat_period"
    )
    stretch: types.Stretch = setting(
        None, "Deform the cell: rates of its lengths; a barostat may have the other axes (--cell-axes)"
    )
    shear: types.Shear = setting(
        None, "Deform the cell: shear rates, xy is du_x/dy; with SLLOD unless --remap is positions"
    )
    strain_rate: Literal["engineering", "true"] = setting(
        "engineering", "Reference of rates of lengths: the initial (engineering) or the present (true) length"
    )
    remap: Literal["positions", "peculiar"] | None = setting(
        None,
        "Atoms of a deformed cell: follow it (positions; default of --stretch), or SLLOD with peculiar "
        "velocities (peculiar; default of --shear)",
    )
    seed: types.Seed = setting(1, "Seed of velocities and noise")

    @property
    def kind(self) -> "type[Ensemble]":
        """The class of the ensemble, which says what it can do."""
        from taichimd.ensembles.registry import ensemble_class

        return ensemble_class({"ensemble": self.name, "stretch": self.stretch, "shear": self.shear})

    @property
    def has_barostat(self) -> bool:
        """Whether the cell follows a pressure."""
        from taichimd.ensembles.registry import ENSEMBLES

        return ENSEMBLES[self.name].moves_cell

    @property
    def barostat(self) -> tuple[object, ...]:
        """What barostats and deformations that act together have in common."""
        remapped = self.remap_of_deformation if self.kind.deforms else ""
        return self.control, "".join(sorted(self.axes)), self.period, remapped

    @property
    def rates(self) -> dict[str, float]:
        """Rates of the deformation, 1/s, by axis or plane."""
        stretch = {} if self.stretch is None else parse_rates(self.stretch, STRETCHED)
        return stretch | ({} if self.shear is None else parse_rates(self.shear, SHEARED))

    @property
    def remap_of_deformation(self) -> str:
        """What `remap` says, or means where it is not given."""
        return self.remap or ("positions" if self.shear is None else "peculiar")

    @property
    def has_ramp(self) -> bool:
        """Whether temperature or pressure goes along a ramp."""
        moves = self.kind.moves_cell and self.final_pressure is not None
        return moves or (bool(self.kind.acts_on) and self.final_temperature is not None)

    def make(self, ramp: tuple[int, int] | None) -> "Ensemble":
        """The ensemble; `ramp`: first and last step of the ramps of temperature and pressure, or None."""
        names = [field.name for field in fields(self.kind) if field.name != "on"]
        return self.kind(**{name: ramp if name == "ramp" else getattr(self, name) for name in names})

    def describe_thermostat(self) -> str:
        """Temperatures and coupling on one line."""
        final = "" if self.final_temperature is None else f" to {self.final_temperature:g}"
        return f"{self.name}, {self.temperature:g}{final} K, coupling time {self.coupling_time:g} fs"

    def describe_deformation(self) -> str:
        """Rates, and what moves with the cell, on one line."""
        rates = ", ".join(text for text in (self.stretch, self.shear) if text is not None)
        sllod = self.remap_of_deformation == "peculiar"
        how = "SLLOD, peculiar velocities" if sllod else "atoms follow the cell"
        kind = f" ({self.strain_rate})" if self.stretch else ""
        return f"{rates}{kind}, {how}"

    def describe_barostat(self) -> str:
        """Pressures, coupling and what may change on one line."""

        def shown(pressure: float | tuple[float, ...]) -> str:
            return ",".join(f"{p:g}" for p in (pressure if isinstance(pressure, tuple) else (pressure,)))

        final = "" if self.final_pressure is None else f" to {shown(self.final_pressure)}"
        axes = "" if self.axes == "xyz" else f" along {self.axes}"
        return (
            f"{shown(self.pressure)}{final} GPa, coupling time {self.pressure_coupling_time:g} fs, "
            f"{self.control}{axes}"
        )


@dataclass(frozen=True)
class LengthSettings(Settings, topic="run"):
    """Length of a run."""

    timestep: types.Femtoseconds = setting(1.0, "Time step; with ReaxFF the default is 0.25 fs")
    steps: types.Steps | None = setting(None, "Number of steps of this run")
    time: types.Time | None = setting(None, 'Length of this run, instead of --steps: "500fs", "10ps", "1ns"')
    equilibrate: types.Equilibration | None = setting(
        None,
        'Time at the start of this run that means and --observe leave out: "5ps"; default found from the '
        "data",
    )

    def number_of_steps(self) -> int | None:
        """Steps of this run, from `steps` or `time`; None when neither is given."""
        if self.time is None:
            return self.steps
        steps = types.parse_time(self.time) / self.timestep
        if steps > types.MAX_STEPS:
            many = f"{steps:.2g} steps of {self.timestep:g} fs"
            raise mistake(f"time {self.time!r} takes {many}; expected {types.MAX_STEPS:.0e} at most")
        if round(steps) < 1:
            raise mistake(f"time {self.time!r} is shorter than the time step of {self.timestep:.15g} fs")
        return round(steps)

    @property
    def equilibration_steps(self) -> int:
        """Steps of `equilibrate`; 0 if it is not given."""
        return round((self.equilibrate or 0.0) / self.timestep)

    def check_equilibration(self, steps: int) -> None:
        """Raise a SettingsError if nothing of a run of so many steps is left after `equilibrate`."""
        if self.equilibrate and self.equilibration_steps >= steps:
            length = f"{steps * self.timestep / 1000:g} ps"
            raise mistake(
                f"equilibrate = {self.equilibrate / 1000:g} ps: the run is {length} long; expected a shorter "
                "time, or a longer run"
            )


@dataclass(frozen=True)
class ObserveSettings(Settings, topic="observe"):
    """What is measured while a run goes."""

    quantities: types.Observables = setting(
        None,
        "Quantities to measure during the run, such as rdf,msd: any of rdf, msd, vacf, heat, viscosity, "
        "species, bonds, reactions, dipole, ir, flow, profile, spectrum, interface; or none",
        "observe",
    )
    every: types.Steps = setting(10, "Steps between samples", "observe_every")
    window: types.Time | None = setting(
        None, 'Longest correlation time: "5ps"; default a tenth of the run', "observe_window"
    )
    r_max: types.Angstrom = setting(8.0, "Largest distance of the RDF", "observe_r_max")
    profile_axis: Literal["x", "y", "z"] = setting("x", "Axis of the profile")
    profile_bin: types.Angstrom = setting(5.0, "Approximate width of the bins of the profile")
    spectrum_axis: Literal["x", "y", "z"] = setting("x", "Direction of the heat current of the spectrum")
    spectrum_of: types.GroupNames = setting(
        "all",
        "Groups whose heat current has a spectrum: all, or names with commas; left>right is the heat flow "
        "from one group to another",
    )
    interface_of: types.GroupPair = setting(
        "", 'Groups between which heat flows through an interface, such as "left>right"'
    )
    spectrum_window: types.Time = setting(
        "1ps", "Longest correlation time of the spectrum; its inverse is the resolution"
    )
    bond_order: types.BondOrder = setting(
        0.3,
        "Least bond order of a bond, for molecules (species) and lists of bonds (bonds)",
        "observe_bond_order",
    )
    bond_formed: types.BondOrder = setting(0.5, "Reactions: a bond order above this forms a bond")
    bond_broken: types.BondOrder = setting(0.3, "Reactions: a bond order at or below this breaks a bond")
    bond_lifetime: types.Duration = setting(
        50.0, 'Reactions: shortest time that a change of bonds must last, in fs or with a unit: "50fs"'
    )


@dataclass(frozen=True)
class ComputeSettings(Settings, topic="compute"):
    """How forces are computed."""

    backend: types.Backend = setting("auto", "Device that computes forces")
    precision: types.Precision = setting("float64", "Floating-point precision")
    decomposition: types.Decomposition = setting(
        "auto", "One thread for each atom (particle) or for each pair and triplet (tuple)"
    )


_NOTHING_ACTS = ActingSettings()


@dataclass(frozen=True)
class RunSettings:
    """Everything that decides what a run computes and where it writes, by topic."""

    system: SystemSettings = SystemSettings()
    potential: PotentialSettings = PotentialSettings()
    ensemble: EnsembleSettings = EnsembleSettings()
    acting: ActingSettings = _NOTHING_ACTS
    run: LengthSettings = LengthSettings()
    observe: ObserveSettings = ObserveSettings()
    output: OutputSettings = OutputSettings()
    compute: ComputeSettings = ComputeSettings()
    # options that somebody gave; others have their defaults
    given: frozenset[str] = field(default=frozenset(), compare=False)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "RunSettings":
        """Settings from values by the names of options, such as those of a record."""
        return replace(cls().changed(**values), given=frozenset(values))

    def changed(self, **values: Any) -> "RunSettings":
        """These settings with other values, by the names of options."""
        topics: dict[str, dict[str, Any]] = {}
        for option, value in values.items():
            topics.setdefault(SETTINGS[option].topic, {})[SETTINGS[option].name] = value
        return replace(self, **{topic: replace(getattr(self, topic), **own) for topic, own in topics.items()})

    def with_intervals(self, steps: int, n_atoms: int) -> "RunSettings":
        """These settings with the intervals of rows and frames in a run of so many steps and atoms."""
        return replace(self, output=self.output.with_intervals(steps, n_atoms))

    def with_ensemble(self, ensemble: "Ensemble") -> "RunSettings":
        """These settings with an ensemble, but for the steps of its ramp."""
        own: dict[str, Any] = {"stretch": None, "shear": None, "strain_rate": "engineering", "remap": None}
        own |= {
            one.name: getattr(ensemble, one.name)
            for one in fields(ensemble)
            if one.name not in ("ramp", "on")
        }
        return replace(self, ensemble=replace(self.ensemble, **own | {"name": ensemble.name}))

    def record(self) -> dict[str, Any]:
        """Values by the names of options."""
        return {option: value for topic in TOPICS for option, value in getattr(self, topic).record().items()}


TOPICS: dict[str, Any] = {one.name: type(one.default) for one in fields(RunSettings) if one.name != "given"}
"""Classes of the topics by their names."""
SETTINGS = {option: one for kind in TOPICS.values() for option, one in settings_of(kind).items()}
"""All settings of a run by the names of their options, in the order of the help."""


def shared(option: str) -> Any:
    """Declare a setting of a run in another class, too."""
    return setting(SETTINGS[option].default, SETTINGS[option].meaning)
