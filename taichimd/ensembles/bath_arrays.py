"""The two arrays of thermostats and barostats, as kernels take them."""

from typing import Any

from taichimd.core.arguments import ArrayField, Bundle


class BathArrays(Bundle):
    """Arrays of thermostats and barostats; the two files `layout.py` name their columns."""

    ledger: Any = ArrayField(
        "i64", "see `Bath`", "seed, numbers of steps, sums of energies in units of 2^-36 eV"
    )
    bath: Any = ArrayField("f64", "see `Bath`", "parameters and state; the cell is in `system.cell`")


class BatchBathArrays(BathArrays):
    """The same of all systems, one after the other."""

    system: Any = ArrayField("i32", "n", "system of the atom at a place")
    firsts: Any = ArrayField("i32", "systems", "first atom of each system, by the user's numbers")


class GroupBathArrays(BathArrays):
    """The same of baths of groups, row after row; `ensembles.groups.layout` says what stands where.

    What a motion of the cell has stands at the end, as in `BatchBathArrays`.
    """

    numbers: Any = ArrayField("i64", "NUMBERS of each bath", "seed, kind and other whole numbers")
    bath_of: Any = ArrayField("i32", "n", "bath of the atom of a user's number, or -1")


class BatchGroupBathArrays(GroupBathArrays):
    """Beside the motions of the cells of several systems."""

    system: Any = ArrayField("i32", "n", "system of the atom at a place")
    firsts: Any = ArrayField("i32", "systems", "first atom of each system, by the user's numbers")
