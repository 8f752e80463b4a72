"""A force field in the place of LAMMPS's pair style, through its `fix external`.

LAMMPS calls back once a step with the positions of its local atoms. Ghosts reach as far as forces on local
atoms need them (`program.ghosts`), which its `comm_modify cutoff` provides.
"""

import os
import sys
import time
from collections.abc import Sequence
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arrays import Array
from taichimd.core.errors import EvaluationError, SettingsError, TaichimdError
from taichimd.core.printable import tell
from taichimd.core.processes import take_device
from taichimd.lammps.processes import summed

FIX = "taichimd"
"""Name of the fix in LAMMPS."""
SKIN = 2.0
"""Angstrom: LAMMPS's own in metal units."""
SIX = ((0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2))
"""Components of a tensor in LAMMPS's order: xx yy zz xy xz yz."""
UNBALANCED = 1e-7
"""Sum of all forces, as a part of what rounding can be at most, from which ghosts are missing."""


class Attached:
    """A force field that a LAMMPS asks for forces; made by `attach`.

    Attributes:
        name: of the force field. reach: angstrom that ghosts must reach beyond a process's part of space.
        error: what ended the run, or None.
    """

    def __init__(self, lmp: Any, forces: Any, *, fatal: bool) -> None:
        self._lmp, self._forces, self._fatal = lmp, forces, fatal
        self.name, self.reach = forces.name, forces.reach
        self.error: BaseException | None = None
        self._tags = self._types = np.zeros(0, np.int32)
        self._local = -1

    def __call__(self, caller: Any, step: int, local: int, tags: NDArray[Any], x: Array, f: Array) -> None:
        """LAMMPS's callback: forces on the local atoms go to f, energy and virial to the fix."""
        try:
            if self.error is None:
                self._evaluate(step, local, f)
                return
        except BaseException as error:  # ctypes would print it and continue
            self._end(error)
        f[:] = 0.0

    def raised(self, method: Any) -> Any:
        """The method of LAMMPS's object that raises, at its end, what has ended a run within."""

        @wraps(method)
        def called(*args: Any) -> Any:
            found = method(*args)
            if self.error is not None:
                raise self.error
            return found

        return called

    def _evaluate(self, step: int, local: int, f: Array) -> None:
        lmp, forces = self._lmp, self._forces
        n = local + lmp.extract_setting("nghost")
        wanted = {name: lmp.extract_global(name) == step for name in _WANTED}
        of_all = wanted["eflag_global"] or wanted["vflag_global"]
        if local:
            x, tags, types = (lmp.numpy.extract_atom(name, nelem=n) for name in ("x", "id", "type"))
            self._take(x, tags, types, local)
            # Forces go to LAMMPS's memory at once, unless they are of another type.
            there = f if f.flags.c_contiguous and f.dtype == forces.numpy_real else None
            found = forces.forces(x, totals=any(wanted.values()), out=there)
            if there is None:
                f[:] = found
        if of_all:
            found = np.zeros(11)
            if local:
                energy, virial = forces.totals()
                found[:] = energy, *virial[SIX], *f.sum(axis=0), np.abs(f).sum()
            total = summed(lmp, found)
            self._check_balance(total[7:10], total[10], step)
            lmp.fix_external_set_energy_global(FIX, float(total[0]))
            lmp.fix_external_set_virial_global(FIX, total[1:7].tolist())
        if local and (wanted["eflag_atom"] or wanted["vflag_atom"]):
            energies, virials = forces.shares()
            lmp.numpy.fix_external_set_energy_peratom(FIX, energies)
            lmp.numpy.fix_external_set_virial_peratom(FIX, _symmetric(virials))

    def _take(self, x: Array, tags: NDArray[Any], types: NDArray[Any], local: int) -> None:
        """Take other atoms, if LAMMPS has exchanged some."""
        same = local == self._local and np.array_equal(tags, self._tags)
        if not (same and np.array_equal(types, self._types)):
            self._forces.set_atoms(types - 1, x, local)
            self._tags, self._types, self._local = tags.copy(), types.copy(), local

    def _check_balance(self, net: Array, size: float, step: int) -> None:
        """Newton's third law: an EvaluationError where it does not hold, as where ghosts are missing."""
        if not np.abs(net).max() <= UNBALANCED * max(size, 1.0):
            raise EvaluationError(
                f"step {step}: all forces add up to {np.abs(net).max():.2g} eV/angstrom, expected 0: "
                "ghosts are missing, as LAMMPS's skin is larger than the skin that was given, or "
                f"comm_modify's cutoff is smaller than {self.reach:.6g} and the skin; leave comm_modify out, "
                "look for neighbor commands"
            )

    def _end(self, error: BaseException) -> None:
        """End the run: LAMMPS itself cannot be told of an exception while it steps."""
        self.error = error
        rank = self._lmp.extract_setting("world_rank")
        told = str(error) if isinstance(error, TaichimdError) else f"{type(error).__name__}: {error}"
        several = self._lmp.extract_setting("world_size") > 1
        if not (self._fatal or several):
            # `raised` tells of it once the command has ended, which is now.
            self._lmp.lib.lammps_force_timeout(self._lmp.lmp)
            return
        end_all(self._lmp, f"{f'process {rank}: ' * several}{told}")


HEARD = 0.5
"""Seconds until mpiexec has passed the message on: an abort ends that, too."""


def end_all(lmp: Any, told: str) -> None:
    """End all processes of a LAMMPS, with one message."""
    tell(f"error: {told}")
    sys.stdout.flush()
    if lmp.extract_setting("world_size") > 1 and lmp.has_mpi4py:
        time.sleep(HEARD)
        lmp.get_mpi_comm().Abort(2)
    os._exit(2)


_WANTED = ("eflag_global", "vflag_global", "eflag_atom", "vflag_atom")
"""LAMMPS's steps at which energy and virial, of all and of each atom, are wanted."""


def attach(
    lmp: Any,
    potential: Any,
    elements: Sequence[str],
    *,
    skin: float = SKIN,
    backend: str = "auto",
    precision: str = "float64",
    fatal: bool = False,
) -> Attached:
    """Let LAMMPS use a force field of taichimd in place of a pair style.

    Args:
        lmp: LAMMPS's Python object, in metal units, with a box and without a pair style.
        potential: as for `taichimd.load_forcefield`; a list is a sum.
        elements: chemical symbols of the atom types 1, 2, ...
        skin: largest skin that the `neighbor` commands of the script set, angstrom.
        backend: "auto", "cuda" or "cpu". Each process of a machine uses a GPU of its own if there are enough.
        precision: "float64", "float32" or "mixed".
        fatal: whether an error ends this process at once. With several processes an error always ends all.

    Returns:
        The object that LAMMPS calls. In one process an error of taichimd is raised by the LAMMPS command.

    Raises:
        SettingsError: units other than metal, no box, a wrong number of elements, or a force field that
            cannot be computed from ghost atoms within a range, such as ReaxFF.
        ParameterFileError, MissingParameterError: as for `load_forcefield`, and for unknown elements.
    """
    units = lmp.extract_global("units")
    if units != "metal":
        raise SettingsError(f"LAMMPS's units are {units}, expected metal; change its line: units metal")
    if not lmp.extract_setting("box_exist"):
        raise SettingsError(
            "LAMMPS has no box yet; write pair_style after create_box, read_data or read_restart"
        )
    types = lmp.extract_setting("ntypes")
    if len(elements) != types:
        raise SettingsError(
            f"{len(elements)} elements ({' '.join(elements)}) for {types} atom types of LAMMPS; expected one "
            "for each: pair_coeff * * with an element for each type"
        )
    remark = take_device()
    from taichimd.forcefields.load import load_forcefield
    from taichimd.program.ghosts import GhostForces

    if remark:
        tell(f"note: {remark}")
    forces = GhostForces(load_forcefield(potential), list(elements), backend=backend, precision=precision)
    attached = Attached(lmp, forces, fatal=fatal)
    for command in (
        "pair_style none",
        f"comm_modify cutoff {forces.reach + skin!r}",
        f"fix {FIX} all external pf/callback 1 1",
        f"fix_modify {FIX} energy yes virial yes",
    ):
        lmp.command(command)
    lmp.set_fix_external_callback(FIX, attached, lmp)
    for name in ("command", "commands_list", "commands_string", "file"):
        setattr(lmp, name, attached.raised(getattr(lmp, name)))
    return attached


def _symmetric(virials: Array) -> Array:
    """(n, 6) in LAMMPS's order."""
    return np.ascontiguousarray(0.5 * (virials + virials.swapaxes(1, 2))[:, SIX[0], SIX[1]])
