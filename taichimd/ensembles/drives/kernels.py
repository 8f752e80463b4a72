"""Kernels of drives outside of steps: forces after an evaluation; energies and reactions of a moment."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from taichimd.core.arguments import Kernel, Number, kernel, types_of
from taichimd.core.runtime import ti
from taichimd.ensembles.drives import layout as of
from taichimd.ensembles.drives.arrays import DriveArrays, DriveKinds
from taichimd.ensembles.drives.functions import drive_functions
from taichimd.neighbours.control import CONTROL, Control
from taichimd.system.state import Atoms


@dataclass(frozen=True)
class DriveKernels:
    """Kernels of drives."""

    add_forces: Kernel  # adds to the forces of an evaluation
    end_run: Kernel  # the same where a run ends, and counts its work
    measure: Kernel  # energies and reactions at a step


@cache
def drive_kernels(kinds: DriveKinds, real: Any, by_slot: bool) -> DriveKernels:
    """The kernels of some kinds of drives; arguments as of `drive_functions`."""
    drives, types = drive_functions(kinds, real, by_slot), types_of(real)
    taken = Atoms.only("n", "pos", "force", "inverse_mass", "ident")
    step_of = Number("i64", "number of the step of these positions")

    def adding(ends: bool) -> Kernel:
        @kernel(types, atoms=taken, control=CONTROL, drives_of=DriveArrays, step=step_of)
        def add_forces(atoms, control, drives_of, step):
            if ti.static(kinds.centres):
                for i in range(atoms.n):
                    if control[Control.held] == 0:
                        drives.add_centre(
                            i, atoms.n, atoms.ident[i], atoms.pos[i], atoms.inverse_mass[i], drives_of
                        )
                for row in range(drives.rows_of(drives_of)):
                    if control[Control.held] == 0:
                        drives.settle(row, step, True, ends, False, drives_of)
            for i in range(atoms.n):
                if control[Control.held] == 0:
                    x, inverse_mass = atoms.pos[i], atoms.inverse_mass[i]
                    if ti.static(kinds.pulls):
                        bits = drives.members(atoms.ident[i], drives_of)
                        f = drives.pull(i, bits, step, atoms, drives_of)
                        for a in ti.static(range(3)):
                            atoms.force[i][a] += ti.cast(f[a], real)
                    if ti.static(ends and kinds.works):
                        drives.work(
                            i,
                            atoms.n,
                            atoms.ident[i],
                            x,
                            atoms.force[i],
                            inverse_mass,
                            step,
                            True,
                            False,
                            drives_of,
                        )

        return add_forces

    @kernel(types, atoms=taken, drives_of=DriveArrays, step=step_of)
    def measure(atoms, drives_of, step):
        for k in range(drives.rows_of(drives_of) * of.SLOTS):
            row, slot = k // of.SLOTS, k % of.SLOTS
            for a in ti.static(range(of.REACTION, of.OF_CENTRE)):
                drives_of.sums[(row * of.SUMS + a) * of.SLOTS + slot] = ti.cast(0, ti.i64)
        for i in range(atoms.n):
            drives.measure(
                i,
                atoms.n,
                atoms.ident[i],
                atoms.pos[i],
                atoms.force[i],
                atoms.inverse_mass[i],
                step,
                drives_of,
            )

    return DriveKernels(adding(False), adding(True), measure)
