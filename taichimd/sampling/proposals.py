"""Trial configurations of all atoms together, and the way back."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from taichimd.core.arguments import Kernel, Number, kernel, types_of
from taichimd.core.random import uniform2
from taichimd.core.runtime import ti
from taichimd.core.streams import MC_MOVE
from taichimd.sampling.trials import BEFORE, SWEEP, Trials
from taichimd.system.state import Atoms


@ti.func
def trial_move(x, most, seed, atom, sweep):
    """Where an atom at x is to go, within a cube of side 2 `most` around it, and the number that decides."""
    u, v = uniform2(seed, atom, sweep, MC_MOVE, 0)
    w, chance = uniform2(seed, atom, sweep, MC_MOVE, 1)
    return x + most * (2.0 * ti.Vector([u, v, w]) - 1.0), chance


@dataclass(frozen=True)
class Proposals:
    """Kernels of one system or several. A spatial sort between two of them does no harm."""

    displace: Kernel  # moves free atoms, each within a cube of side 2 `most` around it
    scale: Kernel  # moves atoms to the same fractional coordinates of cells that are so much larger
    restore: Kernel  # puts back the positions before the trial, of some systems


@cache
def proposals(real: Any) -> Proposals:
    """The kernels of trials."""
    types = types_of(real)
    atoms_of = Atoms.only("n", "pos", "ident")

    @kernel(
        types,
        atoms=Atoms.only("n", "pos", "inverse_mass", "ident"),
        before=BEFORE,
        trials=Trials.only("system", "firsts", "most", "seeds"),
        sweep=SWEEP,
        only=Number("i32", "number of the atom that moves in its system; -1: all do"),
    )
    def displace(atoms, before, trials, sweep, only):
        for i in range(atoms.n):
            k, x = trials.system[i], atoms.pos[i]
            before[atoms.ident[i]] = x
            atom = atoms.ident[i] - trials.firsts[k]
            if atoms.inverse_mass[i] > 0.0 and (only < 0 or only == atom):
                y, _ = trial_move(x, trials.most[k], trials.seeds[k], atom, sweep)
                atoms.pos[i] = y

    @kernel(types, atoms=atoms_of, before=BEFORE, trials=Trials.only("system", "factors"))
    def scale(atoms, before, trials):
        for i in range(atoms.n):
            x = atoms.pos[i]
            before[atoms.ident[i]] = x
            atoms.pos[i] = trials.factors[trials.system[i]] * x

    @kernel(types, atoms=atoms_of, before=BEFORE, trials=Trials.only("system", "back"))
    def restore(atoms, before, trials):
        for i in range(atoms.n):
            if trials.back[trials.system[i]] == 1:
                atoms.pos[i] = before[atoms.ident[i]]

    return Proposals(displace, scale, restore)
