"""What an evaluation leaves with each atom."""

from typing import Any

from taichimd.core.arguments import ArrayField, Bundle
from taichimd.core.runtime import ti
from taichimd.system.state import State


class Outputs(Bundle):
    """What an evaluation leaves, in spatial order."""

    energy: Any = ArrayField("real", "n", "energy of each atom, eV")
    force: Any = ArrayField("vec", "n", "force on each atom, eV/angstrom")
    virial: Any = ArrayField("real", "9n", "3x3 virial of each atom, eV")


def outputs_for(state: State) -> Outputs:
    """Room for what the atoms of a state get."""
    lengths = {"n": state.n, "9n": 9 * state.n}
    return Outputs(*(ti.ndarray(state.types[f.type], lengths[f.length]) for f in Outputs.fields.values()))
