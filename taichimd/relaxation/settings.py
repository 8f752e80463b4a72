"""Settings of a relaxation, in the user's units, and checked."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, FiniteFloat

from taichimd.settings import types
from taichimd.settings.declared import Settings, setting
from taichimd.settings.run import shared
from taichimd.settings.types import Values, mistake

CellChange = Literal["none", "isotropic", "orthorhombic", "full"]
MostSteps = Annotated[int, Field(gt=0, lt=2**31), Values("a whole number above 0", "steps", option=int)]
LargestForce = Annotated[
    float, Field(gt=0, allow_inf_nan=False), Values("a number above 0 (eV/Å)", "eV/Å", option=float)
]
OnePressure = Annotated[FiniteFloat, Values("a number (GPa)", "GPa", option=float)]


@dataclass(frozen=True)
class RelaxSettings(Settings):
    """Settings of a relaxation; fmax and the stress within smax of the pressure end it.

    In fewer than three periodic directions, where no volume is defined, fmax is instead of smax the bound, in
    eV, of the virial per atom. The cell may change by one factor ("isotropic"), by one for each of x, y and z
    ("orthorhombic"), or in any way ("full"). `taichimd relax --help` says what each setting means.

    Raises:
        SettingsError: a value that makes no sense, or settings of the cell with cell none.
    """

    fmax: LargestForce = setting(0.01, "Stop when the largest force is below this")
    steps: MostSteps = setting(10_000, "Largest number of steps")
    cell: CellChange = setting("none", "How the cell may change")
    axes: types.Axes | None = setting(
        None, "Axes along which the cell may change, such as xy; default the periodic axes"
    )
    pressure: OnePressure = setting(0.0, "Target pressure of the cell")
    smax: types.Gigapascal = setting(0.01, "Stop when the stress deviates from --pressure by less than this")
    backend: types.Backend = shared("backend")
    precision: types.Precision = shared("precision")
    decomposition: types.Decomposition = shared("decomposition")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, given in (("axes", self.axes is not None), ("pressure", self.pressure != 0.0)):
            if self.cell == "none" and given:
                raise mistake(
                    f"{name} = {getattr(self, name)}: the cell does not relax; also give cell = "
                    "isotropic, orthorhombic or full"
                )
