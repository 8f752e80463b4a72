"""What a relaxation is told, in the user's units, and checked."""

from dataclasses import dataclass

from taichimd.core.errors import SettingsError
from taichimd.core.scalars import is_number
from taichimd.relaxation.cell import SHAPES


@dataclass(frozen=True)
class RelaxSettings:
    """Settings of a relaxation.

    Attributes:
        fmax: eV/Å; converged when no atom that may move feels a larger force.
        steps: most steps.
        cell: "none", "isotropic" (one factor), "orthorhombic" (a factor for each of x, y, z) or "full".
        axes: of x, y, z those along which the cell may change, such as "xy"; None: all periodic ones.
        pressure: GPa, to be reached.
        smax: GPa; with a cell that relaxes, converged when no component of the stress that may relax is
            further than that from the pressure. In fewer than three periodic directions, where no volume is
            defined, fmax is the bound, in eV, of the virial per atom.

    Raises:
        SettingsError: a value that makes no sense, or settings of the cell with cell none.
    """

    fmax: float = 0.01
    steps: int = 10_000
    cell: str = "none"
    axes: str | None = None
    pressure: float = 0.0
    smax: float = 0.01

    def __post_init__(self) -> None:
        for name, unit in (("fmax", "eV/Å"), ("smax", "GPa")):
            if not (is_number(getattr(self, name)) and getattr(self, name) > 0):
                raise SettingsError(f"{name} = {getattr(self, name)}: expected a number above 0 ({unit})")
        if not is_number(self.pressure):
            raise SettingsError(f"pressure = {self.pressure}: expected a number (GPa)")
        if not (is_number(self.steps) and int(self.steps) == self.steps and 0 < self.steps < 2**31):
            raise SettingsError(f"steps = {self.steps}: expected a whole number above 0")
        if self.cell not in ("none", *SHAPES):
            raise SettingsError(f"cell = {self.cell!r}: expected none, {', '.join(SHAPES)}")
        for name, given in (("axes", self.axes is not None), ("pressure", self.pressure != 0.0)):
            if self.cell == "none" and given:
                raise SettingsError(
                    f"{name} = {getattr(self, name)}: the cell does not relax; expected with it cell = "
                    f"{', '.join(SHAPES)}"
                )
