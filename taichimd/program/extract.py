"""The arrays of one system of a batch, copied on the device: what samplers read as if it were alone."""

from functools import cache
from typing import Any

from taichimd.core.arguments import ArrayField, Number, kernel, types_of
from taichimd.core.runtime import literals, ti
from taichimd.enumerate.outputs import Outputs
from taichimd.system.state import SORTED, Atoms, State


@cache
def _copy_kernel(real: Any) -> Any:
    outputs = Outputs.only("energy", "virial")
    taken, places = Atoms.only(*SORTED), ArrayField("i32", "n", "place of each user's number")
    species = ArrayField("i32", "n", "species of each user's number, among those of the system")
    kept = Atoms.only("n", *SORTED)

    @kernel(
        types_of(real), source=taken, given=outputs, target=kept, found=outputs, sorted_of=places,
        kinds=species, first=Number("i32", "first atom")
    )  # fmt: skip
    def copy(source, given, target, found, sorted_of, kinds, first):
        for i in range(target.n):
            at = first + i
            target.pos[i] = source.pos[at]
            target.vel[i] = source.vel[at]
            target.force[i] = source.force[at]
            target.inverse_mass[i] = source.inverse_mass[at]
            target.kind[i] = kinds[source.ident[at] - first]
            target.ident[i] = source.ident[at] - first
            sorted_of[source.ident[at] - first] = i
            found.energy[i] = given.energy[at]
            for c in ti.static(range(9)):
                found.virial[9 * i + c] = given.virial[9 * at + c]

    return copy


class Extract:
    """A copy of one system: a state of it alone, in the user's order, whose arrays are to be filled."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._kinds = ti.ndarray(ti.i32, state.n)
        self._kinds.from_numpy(state.kind.to_numpy())
        energy, virial = ti.ndarray(state.real, state.n), ti.ndarray(state.real, 9 * state.n)
        self.outputs = Outputs(energy=energy, virial=virial)

    def take(self, batch: State, outputs: tuple[Any, Any], first: int) -> tuple[State, Any, Any]:
        """State, energies (n) and virials (9n) of the system from a slot of a batch on, in spatial order."""
        state, given = self.state, Outputs(energy=outputs[0], virial=outputs[1])
        with literals(state.real):
            _copy_kernel(state.real)(batch, given, state, self.outputs, state.sorted_of, self._kinds, first)
        return state, self.outputs.energy, self.outputs.virial
