"""Settings of an analysis of a trajectory, in the user's units, and checked."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from taichimd.settings import types
from taichimd.settings.declared import Settings, setting, settings_of
from taichimd.settings.run import shared
from taichimd.settings.types import Values

OF_BONDS = ("bond_formed", "bond_broken", "bond_lifetime", "volume")
"""Settings that only a file of bonds uses."""
OF_FRAMES = ("r_max", "bins", "window", "fit", "interval", "input_units", "blocks")
"""Settings that only frames with positions use."""

Frames = Annotated[int, Field(ge=0), Values("a number of frames, 0 or more", option=int)]


@dataclass(frozen=True)
class Request(Settings):
    """Settings of `taichimd.observables.job.analyze`. `taichimd analyze --help` says what each means.

    Lengths of time are numbers in fs, or texts with a unit such as "5ps".

    Raises:
        SettingsError: a value that makes no sense.
    """

    rdf: types.Flag = setting(False, "Radial distribution functions")
    angles: types.Angstrom | None = setting(
        None, "Bond angles and coordination, with bonds shorter than this"
    )
    msd: types.Flag = setting(False, "Mean square displacement and diffusion")
    vacf: types.Flag = setting(False, "Velocity autocorrelation, density of states")
    r_max: types.Angstrom = setting(8.0, "Largest distance of the RDF")
    bins: types.Count = setting(200, "Bins of the RDF")
    window: types.Duration | None = setting(None, 'Longest time difference: "5ps"; default half of a block')
    fit: types.TwoTimes | None = setting(
        None,
        'Range of the linear fit of the MSD: "1ps,5ps"; default 0.2 to 1 times the window, after the '
        "ballistic regime",
    )
    interval: types.Duration | None = setting(
        None, 'Time between frames, if the file does not have times: "10fs"'
    )
    timestep: types.Femtoseconds | None = setting(
        None, "Time step of the program that wrote the file, if frames have only step numbers (LAMMPS dumps)"
    )
    input_units: types.InputUnits | None = setting(
        None, "Units of a LAMMPS dump or data file; default the units that the file states, or metal"
    )
    elements: types.Elements | None = setting(None, "Elements of the atom types 1, 2, ... of a LAMMPS dump")
    equilibrate: types.Equilibration | None = setting(
        None, 'Time at the start to leave out: "5ps"; default found from energies and temperature'
    )
    skip: Frames = setting(0, "Number of frames at the start to leave out")
    blocks: types.Count | None = setting(None, "Number of blocks of the run, for error bars; default 5")
    bond_formed: types.BondOrder = shared("bond_formed")
    bond_broken: types.BondOrder = shared("bond_broken")
    bond_lifetime: types.Duration = shared("bond_lifetime")
    volume: types.CubicAngstrom | None = setting(
        None, "Volume of the cell, for rate constants of concentrations from a file of bonds"
    )
    plot_format: types.PlotFormat = shared("plot_format")

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of `registry.OF_TRAJECTORIES`; empty: all that the trajectory allows, but for angles."""
        wanted = {"rdf": self.rdf, "angles": self.angles is not None, "msd": self.msd, "vacf": self.vacf}
        return tuple(name for name, is_wanted in wanted.items() if is_wanted)

    def refuse(self, names: tuple[str, ...], why: str) -> None:
        """Raise an AnalysisError, with the reason, if one of these settings is not the default."""
        for name in names:
            if getattr(self, name) != settings_of(Request)[name].default:
                # The help of the command line needs this module, and errors import NumPy.
                from taichimd.core.errors import AnalysisError

                raise AnalysisError(f"--{name.replace('_', '-')} {why}")

    @property
    def window_ps(self) -> float | None:
        """Longest time difference, ps; None: half of a block."""
        return None if self.window is None else self.window / 1000.0

    @property
    def interval_ps(self) -> float | None:
        """Between frames, ps; None: as the file says."""
        return None if self.interval is None else self.interval / 1000.0

    @property
    def timestep_ps(self) -> float | None:
        """Time step of the program that wrote the frames, ps; None: as the file says."""
        return None if self.timestep is None else self.timestep / 1000.0

    @property
    def equilibrate_ps(self) -> float | None:
        """At the start to leave out, ps; None: to be found."""
        return None if self.equilibrate is None else self.equilibrate / 1000.0

    @property
    def fit_ps(self) -> tuple[float, float] | None:
        """Where the line through the mean square displacement lies, ps.

        None: 0.2 to 1 times the window, without the ballistic part (`estimators.motion.fit_diffusion`).
        """
        return None if self.fit is None else (self.fit[0] / 1000.0, self.fit[1] / 1000.0)
