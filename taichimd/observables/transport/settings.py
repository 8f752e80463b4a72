"""What decides a thermal conductivity, checked before anything runs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from taichimd.core.errors import SettingsError
from taichimd.core.scalars import is_number, is_whole
from taichimd.observables.estimators.transport import BLOCKS
from taichimd.observables.trajectory import TWO_ORIGINS

METHODS = ("green-kubo", "hnemd")
AXES = ("x", "y", "z")


@dataclass(frozen=True)
class KappaSettings:
    """Of `taichimd.observables.transport.kappa.thermal_conductivity`.

    Args:
        temperature: K.
        method: green-kubo, from fluctuations in equilibrium; hnemd, of solids, from the response to a driving
            force: energy that moving atoms carry along is neither driven nor counted.
        supercell: repetitions of the structure along its cell vectors.
        runs: independent runs, whose scatter is the error.
        equilibrate: fs with a Langevin thermostat before each run.
        time: fs of each run.
        window: fs; green-kubo: longest correlation time; hnemd: what is left out at the start of a run.
            None: a tenth of `time`.
        plateau: fs, between which times the running integral is averaged (green-kubo); None: over the
            second half of the window.
        every: steps between samples of the heat current.
        timestep: fs.
        seed: of the first run; the others have the following numbers.
        driving_force: 1/angstrom (hnemd): small enough for a linear response, which halving it shows; None:
            1e-4.
        direction: of the driving force (hnemd): x, y or z; None: x.
        backend: auto, cuda or cpu.
        precision: float64, mixed or float32.
        decomposition: particle, tuple or auto (see `Engine`).
        thickness: angstrom, of a sheet in the plane of x and y: its volume is area times thickness, and kappa
            is the mean of x and y. None: of what fills its cell.

    Raises:
        SettingsError: a value that makes no sense, or a window that leaves too little of the run.
    """

    temperature: float
    method: str = "green-kubo"
    supercell: tuple[int, int, int] = (1, 1, 1)
    runs: int = 5
    equilibrate: float = 20_000.0
    time: float = 500_000.0
    window: float | None = None
    plateau: tuple[float, float] | None = None
    every: int = 10
    timestep: float = 1.0
    seed: int = 1
    driving_force: float | None = None
    direction: str | None = None
    backend: str = "auto"
    precision: str = "float64"
    decomposition: str = "auto"
    thickness: float | None = None

    def __post_init__(self) -> None:
        self._check_method()
        units = {"temperature": "K", "equilibrate": "fs", "time": "fs", "timestep": "fs"}
        if self.method == "hnemd":
            units["driving_force"] = "1/Å"
        for key, unit in units.items():
            value = getattr(self, key)
            if not (is_number(value) and value > 0):
                raise SettingsError(f"{key} = {value}: expected a number above 0 ({unit})")
        for key, values in (("runs", (self.runs,)), ("every", (self.every,)), ("supercell", self.supercell)):
            if not all(is_whole(value) and value >= 1 for value in values):
                raise SettingsError(f"{key} = {getattr(self, key)}: expected whole numbers above 0")
        if not (is_whole(self.seed) and 0 <= self.seed < 2**62):
            raise SettingsError(f"seed = {self.seed}: expected a whole number, 0 or above")
        self._check_sheet()
        self._check_window()

    def _check_method(self) -> None:
        if self.method not in METHODS:
            raise SettingsError(f"method = {self.method!r}: expected {' or '.join(METHODS)}")
        driven = {"driving_force": 1e-4, "direction": "x"} if self.method == "hnemd" else {}
        for key, default in driven.items():
            if getattr(self, key) is None:
                object.__setattr__(self, key, default)
        if driven and self.direction not in AXES:
            raise SettingsError(f"direction = {self.direction!r}: expected {' or '.join(AXES)}")
        for key in ("plateau",) if driven else ("driving_force", "direction"):
            if getattr(self, key) is not None:
                raise SettingsError(
                    f"{key} = {getattr(self, key)}: {self.method} has no use for it; leave it out"
                )

    def _check_sheet(self) -> None:
        if self.thickness is None:
            return
        if not (is_number(self.thickness) and self.thickness > 0):
            raise SettingsError(f"thickness = {self.thickness}: expected a number above 0 (Å)")
        if self.method == "hnemd" and self.direction == "z":
            raise SettingsError("direction = 'z' is across the sheet (thickness): expected x or y")
        if self.supercell[2] != 1:
            raise SettingsError(
                f"supercell = {self.supercell}: a sheet (thickness) repeats along x and y alone"
            )

    def _check_window(self) -> None:
        samples, interval = self.steps // self.every + 1, self.every * self.timestep
        fewest, leaves = 2, TWO_ORIGINS
        if self.method == "hnemd":
            fewest, leaves = BLOCKS, f"{BLOCKS} samples behind it, for an error"
        longest = samples - fewest
        if longest < 1:
            raise SettingsError(
                f"time = {self.time:g} fs: expected {fewest + 1} samples or more, {self.every} "
                f"steps of {self.timestep:g} fs apart; lengthen the time"
            )
        if not 1 <= self.lags <= longest:
            raise SettingsError(
                f"window = {self.window_fs / 1000:g} ps: expected one sample ({interval:g} fs) or more, and "
                f"{longest * interval / 1000:g} ps at most, which leaves the run {leaves}; choose another "
                "window or lengthen the time"
            )
        if self.plateau is not None and not 0 <= self.plateau[0] < self.plateau[1] <= self.window_fs:
            raise SettingsError(
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
        left_out = {"runs", "window", "plateau", "backend", "decomposition", "thickness"}
        if self.method == "green-kubo":
            left_out |= {"driving_force", "direction"}
        return {k: v for k, v in asdict(self).items() if k not in left_out} | {
            "supercell": list(self.supercell)
        }
