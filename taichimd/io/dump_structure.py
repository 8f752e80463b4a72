"""One frame of a LAMMPS dump as a structure."""

from collections import deque
from pathlib import Path

from ase import Atoms

from taichimd.core.errors import StructureError
from taichimd.io.lammps_dump import Dump, DumpFrame, identified, is_dump

__all__ = ["is_dump", "read_dump_frame"]


def read_dump_frame(path: Path, frame: int | None, units: str | None) -> tuple[Atoms, list[str]]:
    """A frame, None: the last, and remarks; unfolded where the dump says how, velocities if there are any."""
    dump, count = Dump(path, units), 0
    wanted = -1 if frame is None else frame
    kept: deque[DumpFrame] = deque(maxlen=max(1, -wanted))
    for one in dump.frames():
        if wanted < 0 or count == wanted:
            kept.append(one)
        count += 1
    if not -count <= wanted < count:
        raise StructureError(
            f"trajectory {path} has {count} frames; from_frame = {frame}: expected {-count} to {count - 1}"
        )
    found, notes = kept[0], list(dump.notes)
    if frame is None and count > 1:
        notes.append(
            f"{path.name} has {count:,} frames; the last is used (--from-frame selects a different one)"
        )
    if found.masses is None and any(kind.isdigit() for kind in found.kinds.tolist()):
        types = ", ".join(sorted(set(found.kinds.tolist()))[:5])
        raise StructureError(
            f"structure file {path} has atom types ({types}) and no elements; write it with a column "
            "element: "
            "dump ID all custom N FILE id element x y z, dump_modify ID element Si O, one for each type"
        )
    symbols, masses = identified(found, None, path)
    atoms = Atoms(
        symbols.tolist(), positions=found.positions, cell=found.cell, pbc=found.pbc, masses=masses.tolist()
    )
    if found.velocities is not None:
        atoms.set_velocities(found.velocities)
    return atoms, notes
