"""What all processes do together, and end together if one of them meets an error."""

from typing import Any

from taichimd.core.errors import StructureError, TaichimdError
from taichimd.neighbours.verlet_list import coincident
from taichimd.parallel.held import Held
from taichimd.program import explosion


def in_all(engine: Any, processes: Any, held: Held, do: Any, tell: Any) -> list[Any]:
    """Do something and tell all; what each process told. What one process meets is raised in all."""
    told: tuple[str, int] | None = None
    error: TaichimdError | None = None
    news = None
    try:
        do()
        news = tell()
    except TaichimdError as met:
        error, atom, device = met, -1, held.device
        if device is not None and isinstance(met, StructureError):
            atom = int(held.members()[device.lists.atom_too_close()])
        told = str(met), atom
    everyone = processes.allgather((told, news))
    first = next((one for one, _ in everyone if one), None)
    if first is None:
        return [its for _, its in everyone]
    if held.device is not None:
        held.device.explode()
    text, atom = first
    if atom >= 0:
        what = coincident(engine.positions(), engine._cells.frame(0), atom)
        if engine.step == 0:
            raise StructureError(what)
        raise explosion.exploded(engine.step, what.split(";")[0], atom) from error
    raise error or TaichimdError(f"another process: {text}")
