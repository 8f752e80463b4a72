"""Bonds of a reactive run through time, which a file takes while the run continues (`app.bond_file`)."""

from typing import TYPE_CHECKING

from taichimd.observables.observable import Result, RunObservable

if TYPE_CHECKING:
    from taichimd.forcefields.base import ForceField


class Bonds(RunObservable):
    """A table of bonds with a row for each atom and sample; a restart continues in the same file."""

    name, tables, picture = "bonds", (), ""

    @classmethod
    def files(cls, plot_format: str = "png") -> list[str]:
        """The table alone."""
        return ["bonds.csv"]

    @classmethod
    def check_forcefield(cls, forcefield: "ForceField") -> None:
        """Raise a PropertyError if it has no bonds."""
        forcefield.check_bonds()

    def result(self) -> Result:
        """The table that the run has written."""
        return Result([], [], [("bonds", "each atom's neighbours and bond orders in bonds.csv")])
