"""Settings of a Monte Carlo run, in the user's units, and checked."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, FiniteFloat

from taichimd.settings import types
from taichimd.settings.declared import Settings, setting, settings_of
from taichimd.settings.run import shared
from taichimd.settings.types import Values, mistake

OnePressure = Annotated[FiniteFloat, Values("a number (GPa)", "GPa", option=float)]
_Kelvin = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Temperatures = Annotated[
    _Kelvin | tuple[_Kelvin, ...],
    BeforeValidator(types.parse_pressure),
    Values("a number above 0 (K), or several such as 80,90", "K", ': one or several, "80,90"'),
]
VolumeMove = Annotated[
    float, Field(gt=0, le=1.0), Values("a number above 0, at most 1 (change of ln V)", option=float)
]
Sweeps = Annotated[
    int,
    Field(gt=0, le=types.MAX_STEPS),
    Values("a whole number above 0, at most 1e15 (sweeps)", "sweeps", option=int),
]
SomeSweeps = Annotated[
    int, Field(ge=0, le=types.MAX_STEPS), Values("a whole number, 0 or more (sweeps)", "sweeps", option=int)
]

VOLUME_MOVES = {"nvt": False, "npt": True}
"""Whether an ensemble of Monte Carlo moves the volume."""


@dataclass(frozen=True)
class MCSettings(Settings):
    """Settings of a Monte Carlo run. `taichimd mc --help` says what each means.

    Raises:
        SettingsError: a value that makes no sense, or settings of another ensemble.
    """

    structure: types.Structure | None = setting(
        None, "Structure file that ASE reads, checkpoint or folder of a run"
    )
    input_units: types.InputUnits | None = shared("input_units")
    atom_style: types.AtomStyle | None = shared("atom_style")
    restart: types.Restart | None = shared("restart")
    potential: types.Potential | None = shared("potential")
    ensemble: Literal["nvt", "npt"] = setting("nvt", "Ensemble")
    temperature: Temperatures = setting(300.0, "Temperature of the chain, or of several chains")
    replicas: types.Count = setting(1, "Number of chains at each temperature, each with its own seed")
    exchange: Sweeps | None = setting(None, "Sweeps between exchanges of neighbouring temperatures")
    pressure: OnePressure = setting(0.0, "Pressure of npt")
    sweeps: Sweeps | None = setting(None, "Number of sweeps of this run, after the equilibration")
    equilibration: SomeSweeps | None = setting(
        None, "Number of sweeps at the start, in which step sizes are tuned; default a quarter of --sweeps"
    )
    moves: Literal["all", "single"] | None = setting(
        None,
        "Trial moves of all atoms together (all) or of one atom (single); default single if the move of one "
        "atom needs no full evaluation: pairs, EAM files and Axilrod-Teller, in a cell wider than the cutoff",
    )
    move: types.Angstrom | None = setting(
        None,
        "Largest displacement along x, y and z at the start; default 0.3, with --moves all 0.3/sqrt(atoms)",
    )
    volume_move: VolumeMove = setting(0.01, "Largest change of ln V at the start")
    seed: types.Seed = setting(1, "Seed of all random numbers; seeds of several chains are derived from it")
    output: types.Folder = setting("taichimd-mc", "Folder for the results; a restart keeps its folder")
    every: Sweeps | None = setting(
        None,
        "Sweeps between rows of the table; default --sweeps / 200, but at most 10 (100 with --moves all)",
    )
    frames: Literal["extxyz", "netcdf", "traj", "none"] = shared("frames")
    frames_every: Sweeps | None = setting(
        None, "Sweeps between frames; default the value of --every if it is given, otherwise 100"
    )
    checkpoint_interval: types.Seconds = shared("checkpoint_interval")
    overwrite: types.Flag = shared("overwrite")
    backend: types.Backend = shared("backend")
    precision: types.Precision = shared("precision")
    decomposition: types.Decomposition = shared("decomposition")

    @property
    def temperatures(self) -> tuple[float, ...]:
        """K, of all chains of a replica."""
        return self.temperature if isinstance(self.temperature, tuple) else (self.temperature,)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.moves_volume and self.pressure != 0.0:
            raise mistake(
                f"pressure = {self.pressure:g}: the ensemble nvt has no pressure; expected ensemble = npt"
            )
        if not self.moves_volume and self.volume_move != settings_of(MCSettings)["volume_move"].default:
            raise mistake(
                f"volume_move = {self.volume_move:g}: the ensemble nvt does not move the volume; expected "
                "ensemble = npt"
            )

    @property
    def moves_volume(self) -> bool:
        """Whether there are moves of the volume, at a pressure."""
        return VOLUME_MOVES[self.ensemble]
