"""Directions along which atoms are held, on the device: bits 1, 2, 4 for x, y, z of an atom."""

from functools import cache
from typing import Any

from taichimd.core.arguments import ArrayField, kernel, types_of
from taichimd.core.runtime import ti
from taichimd.system.state import Atoms

HELD = ArrayField("i32", "n", "bits 1, 2, 4 for x, y, z along which the atom of a user's number is held")


@ti.func
def without_held(v, bits):
    """A vector without its components along which an atom is held."""
    out = v
    for a in ti.static(range(3)):
        if (bits >> a) & 1 == 1:
            out[a] = 0.0
    return out


@cache
def hold_kernel(real: Any) -> Any:
    """Kernel: velocities without what is held. Launch: one thread per atom."""

    @kernel(types_of(real), atoms=Atoms.only("n", "vel", "ident"), held=HELD)
    def hold(atoms, held):
        for i in range(atoms.n):
            atoms.vel[i] = without_held(atoms.vel[i], held[atoms.ident[i]])

    return hold
