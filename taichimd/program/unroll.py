"""How many steps one call of a kernel does."""

from taichimd.core.runtime import DEVICE_LOOPS, QUICK_COMPILE
from taichimd.ensembles.coupling import Coupling
from taichimd.enumerate.group import TermGroup

FULL_DEVICE = 300_000
"""Atoms from which one thread per atom keeps a large GPU busy."""
SHORT_STEPS = 40_000
"""Atoms up to which a round of a loop on the device takes a time that counts beside that of its steps."""


def steps_per_call(backend: str, n_atoms: int, groups: tuple[TermGroup, ...], coupling: Coupling) -> int:
    """Steps that one kernel call, or one round of a loop on the device, unrolls.

    A call costs as much as several loops over atoms, a round as much as three, a step compile time. Where
    positions swap between two arrays (`program.steps.verlet`) steps come in pairs. For few atoms
    that saves rounds, which cost them much (docs/decisions, 014). Nine steps between two actions of a
    barostat are three rounds of three, but five of two, the last with an idle step. On a full device the
    host's part of a call passes while the device works. A barostat's serial part takes as long to compile as
    everything else.
    """
    full, many_body = n_atoms >= FULL_DEVICE, any(group.terms.many_body for group in groups)
    if any(group.terms.queued for group in groups):
        return 1
    if DEVICE_LOOPS:
        of = groups[0].terms
        swap = len(groups) == 1 and (not many_body or of.angle is not None or of.short_body)
        if backend == "cpu" or not (swap or n_atoms < SHORT_STEPS):
            return 1
        between = coupling.period - 1
        return 3 if not swap and coupling.moves_cell and between > 0 and between % 3 == 0 else 2
    if coupling.moves_cell or (many_body and (backend == "cpu" or full)):
        return 1
    if backend == "cpu" or full:
        return 2 if QUICK_COMPILE else 4
    return 4 if many_body else 12
