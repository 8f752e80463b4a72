"""Trial configurations of all atoms together, and the way back."""

from functools import cache
from types import SimpleNamespace
from typing import Any

from taichimd.core.arguments import Array, Bundle, Number, kernel, types_of
from taichimd.core.random import uniform2
from taichimd.core.runtime import ti
from taichimd.core.streams import MC_MOVE
from taichimd.system.state import Atoms


@ti.func
def trial_move(x, most, seed, atom, sweep):
    """Where an atom at x is to go, within a cube of side 2 `most` around it, and the number that decides."""
    u, v = uniform2(seed, atom, sweep, MC_MOVE, 0)
    w, chance = uniform2(seed, atom, sweep, MC_MOVE, 1)
    return x + most * (2.0 * ti.Vector([u, v, w]) - 1.0), chance


BEFORE = Array("vec", "n", "positions before the trial by the user's numbers, angstrom")


class Each(Bundle):
    """What systems do, in trial moves of all of them."""

    system: Any = Array("i32", "n", "system of the atom at a place")
    firsts: Any = Array("i32", "systems", "first atom of each system, by the user's numbers")
    most: Any = Array("real", "systems", "largest displacement along an axis, angstrom")
    beta: Any = Array("f64", "systems", "1/kT, 1/eV")
    seeds: Any = Array("i64", "systems", "seed")
    factors: Any = Array("real", "systems", "of all lengths")
    back: Any = Array("i32", "systems", "1 where the positions before the trial come back")


SINGLE_MOVES = Each.only("firsts", "most", "beta", "seeds")
"""Of trial moves of single atoms, which kernels decide on."""
SWEEP = Number("i64", "number of the sweep")


@cache
def proposals(real: Any) -> Any:
    """Kernels `displace`, `scale`, `restore` of one system or several. A spatial sort between two of them does no harm.

    Args:
        real: ti.f64 or ti.f32, of the atoms.
    """
    types = types_of(real)
    atoms_of = Atoms.only("n", "pos", "ident")

    @kernel(types, atoms=Atoms.only("n", "pos", "inverse_mass", "ident"), before=BEFORE, each=Each.only("system", "firsts", "most", "seeds"), sweep=SWEEP, only=Number("i32", "number of the atom that moves in its system; -1: all do"))  # fmt: skip
    def displace(atoms, before, each, sweep, only):
        """Move free atoms, each within a cube of side 2 `most` around it."""
        for i in range(atoms.n):
            k, x = each.system[i], atoms.pos[i]
            before[atoms.ident[i]] = x
            atom = atoms.ident[i] - each.firsts[k]
            if atoms.inverse_mass[i] > 0.0 and (only < 0 or only == atom):
                y, _ = trial_move(x, each.most[k], each.seeds[k], atom, sweep)
                atoms.pos[i] = y

    @kernel(types, atoms=atoms_of, before=BEFORE, each=Each.only("system", "factors"))
    def scale(atoms, before, each):
        """Positions in cells that are so much larger, at the same fractional coordinates."""
        for i in range(atoms.n):
            x = atoms.pos[i]
            before[atoms.ident[i]] = x
            atoms.pos[i] = each.factors[each.system[i]] * x

    @kernel(types, atoms=atoms_of, before=BEFORE, each=Each.only("system", "back"))
    def restore(atoms, before, each):
        """Positions before the trial, of some systems."""
        for i in range(atoms.n):
            if each.back[each.system[i]] == 1:
                atoms.pos[i] = before[atoms.ident[i]]

    return SimpleNamespace(displace=displace, scale=scale, restore=restore)
