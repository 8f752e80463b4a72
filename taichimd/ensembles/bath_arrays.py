"""The arrays of thermostats and barostats, as kernels take them."""

from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Selection


class BathArrays(Bundle):
    """Arrays of thermostats and barostats, bath after bath; the files `layout.py` name their columns.

    Baths of groups come first; baths of a motion of the cell follow.
    """

    ledger: Any = ArrayField(
        "i64", "`ledger_size` a bath", "seed, numbers of steps, sums of energies in units of 2^-36 eV"
    )
    bath: Any = ArrayField("f64", "`bath_size` a bath", "parameters and state; the cell is in `system.cell`")
    system: Any = ArrayField("i32", "n", "system of the atom at a place")
    firsts: Any = ArrayField("i32", "systems", "first atom of each system, by the user's numbers")
    numbers: Any = ArrayField("i64", "NUMBERS of each bath", "of groups: seed, kind and other whole numbers")
    bath_of: Any = ArrayField("i32", "n", "of groups: bath of the atom of a user's number, or -1")
    rows_from: Any = ArrayField("i32", "systems + 1", "of groups beside a cell: first bath of each system")


def taken_baths(groups: bool = False, systems: bool = False, beside: bool = False) -> Selection:
    """What kernels take of them: for baths of groups, for systems of atoms, beside a motion of the cell."""
    of_groups, of_systems = ("numbers", "bath_of") * groups, ("system", "firsts") * systems
    return BathArrays.only("ledger", "bath", *of_groups, *of_systems, *(("rows_from",) * beside))
