"""Energies of all systems of a device, without forces where they cost less so."""

from collections.abc import Sequence
from math import fsum

from taichimd.enumerate.evaluator import ENERGY, REST
from taichimd.program.device import Device

Energy = tuple[float, float | None]
"""An energy, and the part of it that is homogeneous in the positions, eV; None: not known."""


def energies_of(device: Device, known: Sequence[float | None] | None = None) -> list[Energy]:
    """Energies of the present positions of all systems; homogeneous parts (eV) may be `known`.

    Their last digits may differ from those of an evaluation, and depend on the positions alone.
    """
    if not any(one.energy_costs_less for one in device.evaluators):
        device.need_outputs()
        return [(energy, None) for energy in device.potentials()]
    known = known or [None] * len(device.state.sizes)
    of_all = None not in known
    device.finish(REST if of_all else ENERGY)
    cheaper = [one for one in device.evaluators if one.energy_costs_less]
    alike = [one.energies() for one in cheaper if not one.degree]
    rest: list[Sequence[float | None]] = [device.potentials(), *alike]
    same = [] if of_all else [one.energies() for one in cheaper if one.degree]
    found: list[Energy | None] = []
    for k, homogeneous in enumerate(known):
        parts = [homogeneous] if homogeneous is not None else [one[k] for one in same]
        others = [one[k] for one in rest]
        fine = [energy for energy in (*parts, *others) if energy is not None]
        if len(fine) < len(parts) + len(others):
            found.append(None)
        else:
            found.append((fsum(fine), fsum(fine[: len(parts)])))
    if None in found:
        device.need_outputs()
    whole = device.potentials() if None in found else []
    return [one or (whole[k], None) for k, one in enumerate(found)]
