"""A sweep of one chain, or of several in one launch: trial moves of the atoms, then of the volume.

Each chain decides alone, on the host, with its own random numbers. So it has the bits that it has alone.
"""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import StructureError
from taichimd.core.host_copies import to_device
from taichimd.core.philox import GLOBAL, blocks, uniforms
from taichimd.core.runtime import ti
from taichimd.core.streams import MC_MOVE, MC_SWEEP
from taichimd.program.device import Device, Energy
from taichimd.sampling.kinds import ALL
from taichimd.sampling.proposals import proposals
from taichimd.sampling.singles import SingleMoves
from taichimd.sampling.trials import Trials
from taichimd.system.frame import Frame
from taichimd.system.state import State

if TYPE_CHECKING:
    from taichimd.sampling.chain import MonteCarlo

MOVE, VOLUME, VOLUME_MOVE, BOARD = range(4)
"""Uniform numbers of a sweep: acceptance of the move of all atoms, change of ln V, its acceptance; the others
are of the board."""
NUMBERS = BOARD + 11


class Systems(Protocol):
    """The systems of chains: a `Batch`, or a chain itself."""

    @property
    def device(self) -> Device:
        """Where they are."""

    @property
    def members(self) -> Sequence[Any]:
        """Each with `positions`, `cell` and `frame`."""

    def energies(self, known: Sequence[float | None] | None = None) -> list[Energy]:
        """As `Device.energies`."""

    def set_cells(self, cells: dict[int, Array]) -> None:
        """Other cells of some systems, (3, 3) angstrom each."""

    def system_of(self, atom: int) -> int:
        """The system of an atom."""

    def forget(self) -> None:
        """Kernels have moved atoms."""


class Sweep:
    """Sweeps of chains at the same sweep, whose settings differ in temperatures, step sizes and seeds.

    Args:
        state: the atoms of their systems.
        singles: of chains of single moves, what knows how they change energies; else None.
    """

    def __init__(self, state: State, singles: SingleMoves | None = None) -> None:
        self._singles, self._kernels = singles, proposals(state.real)
        self._before = ti.ndarray(state.vec, state.n)
        of_systems = [name for name, field in Trials.fields.items() if field.length == "systems"]
        systems = len(state.sizes)
        made = {name: ti.ndarray(state.types[Trials.fields[name].type], systems) for name in of_systems}
        self._trials, self._told = Trials(system=state.system, **made), {name: np.zeros(0) for name in made}
        self._tell("firsts", state.firsts)

    def __call__(self, chains: Sequence["MonteCarlo"], systems: Systems) -> None:
        """One sweep of all."""
        first, seeds = chains[0], [one.seed for one in chains]
        words = blocks(seeds, np.full(len(chains), GLOBAL), first.step, MC_SWEEP, 0, (NUMBERS + 1) // 2)
        uniform = uniforms(words).reshape(len(chains), -1)[:, :NUMBERS]
        self._tell("seeds", seeds)
        self._tell("most", [one.moves.size for one in chains])
        if first.kind == ALL:
            self._displace(chains, systems, uniform[:, MOVE].tolist())
        elif self._singles is not None and self.fits(chains, systems):
            self._move_singles(self._singles, chains, systems, uniform[:, BOARD:])
        else:
            self._displace_each(first, systems)
        if first.pressure is not None:
            self._change_volumes(chains, systems, uniform)

    def fits(self, chains: Sequence["MonteCarlo"], systems: Systems) -> bool:
        """Whether no atom is in range of its own image; else single moves have full evaluations."""
        return all(_wide(member.frame, chains[0].forcefield.cutoff) for member in systems.members)

    def _move_singles(
        self, singles: SingleMoves, chains: Sequence["MonteCarlo"], systems: Systems, uniform: Array
    ) -> None:
        """Trial moves of single atoms that kernels decide on."""
        before = [one.energy for one in chains]
        self._tell("beta", [one.beta for one in chains])
        most = max(one.moves.size for one in chains)
        frames = [member.frame for member in systems.members]
        changes = singles.sweep(frames, list(uniform), self._trials, most, chains[0].step)
        systems.forget()
        rough = any(change is None for change, _ in changes)
        whole = systems.energies() if rough else []
        for k, (one, (change, accepted)) in enumerate(zip(chains, changes, strict=True)):
            one.take_energy(whole[k] if change is None else (before[k] + change, None))
            one.moves.count(accepted, one.free)

    def _displace_each(self, chain: "MonteCarlo", systems: Systems) -> None:
        """A trial move of each free atom, with a full evaluation each."""
        atoms = np.arange(chain.n_atoms)
        chances = uniforms(blocks(chain.seed, atoms, chain.step, MC_MOVE, 1, 1))[:, 0, 1]
        for atom in atoms.tolist() if chain.fixed is None else np.flatnonzero(~chain.fixed).tolist():
            self._displace([chain], systems, [float(chances[atom])], atom)

    def _displace(
        self, chains: Sequence["MonteCarlo"], systems: Systems, uniform: Sequence[float], only: int = -1
    ) -> None:
        """Move all atoms, or one, and decide."""
        old, members = [one.energy for one in chains], systems.members
        self._propose(systems, self._kernels.displace, chains[0].step, only)
        out = {k for k, one in enumerate(chains) if one.leaves(members[k].positions, members[k].cell)}
        new = self._trial_energies(systems, out, [None] * len(chains), {})
        accepted = [one.accepts(uniform[k], new[k][0] - old[k]) for k, one in enumerate(chains)]
        self._decide(chains, systems, accepted, new, {})

    def _change_volumes(self, chains: Sequence["MonteCarlo"], systems: Systems, uniform: Array) -> None:
        old, cells = [one.energy for one in chains], [one.cell for one in systems.members]
        trials = [one.trial_volume(float(uniform[k, VOLUME])) for k, one in enumerate(chains)]
        after = [cell * factor for cell, (_, factor) in zip(cells, trials, strict=True)]
        self._tell("factors", [factor for _, factor in trials])
        self._propose(systems, self._kernels.scale)
        systems.set_cells(dict(enumerate(after)))
        degree, known = systems.device.degree, [one.homogeneous for one in chains]
        for k, (_, factor) in enumerate(trials):
            part = known[k]
            known[k] = part * _power(factor, degree) if degree and part is not None else None
        before = dict(enumerate(cells))
        new = self._trial_energies(systems, set(), known, before)
        accepted = [
            one.accepts_volume(
                float(uniform[k, VOLUME_MOVE]), new[k][0] - old[k], trials[k][0], (cells[k], after[k])
            )
            for k, one in enumerate(chains)
        ]
        self._decide(chains, systems, accepted, new, before)

    def _tell(self, name: str, values: Any) -> None:
        """Numbers of systems that the device has to know."""
        array, before = getattr(self._trials, name), self._told[name]
        numbers = np.asarray(values, ti.lang.util.to_numpy_type(array.dtype))
        if not np.array_equal(numbers, before):
            to_device(array, numbers)
            self._told[name] = numbers

    def _propose(self, systems: Systems, kernel: Any, *numbers: int) -> None:
        device = systems.device
        device.launch(kernel, device.state, self._before, self._trials, *numbers)
        device.moved()
        systems.forget()

    def _trial_energies(
        self, systems: Systems, out: Collection[int], known: Sequence[float | None], cells: dict[int, Array]
    ) -> list[Energy]:
        """Of trial configurations; infinity of those that are out, and where atoms are on top of each other.

        Args:
            systems: all.
            out: numbers of those that are rejected anyway.
            known: homogeneous parts, as for `Device.energies`.
            cells: before the trial, if it changes them.
        """
        lists, failed = systems.device.lists, set(out)
        found: list[Energy] = [(np.inf, None)] * len(known)
        while len(failed) < len(known):
            try:
                energies = systems.energies(known)
            except StructureError:
                close = systems.system_of(lists.atom_too_close())
                failed.add(close)
                self._undo(systems, [close], cells)
                lists.outdate()
            else:
                return [found[k] if k in failed else energy for k, energy in enumerate(energies)]
        return found

    def _decide(
        self, chains: Sequence["MonteCarlo"], systems: Systems, accepted: Sequence[bool],
        energies: Sequence[Energy], cells: dict[int, Array],
    ) -> None:  # fmt: skip
        for one, yes, energy in zip(chains, accepted, energies, strict=True):
            if yes:
                one.take_energy(energy)
        self._undo(systems, [k for k, yes in enumerate(accepted) if not yes], cells)

    def _undo(self, systems: Systems, numbers: Sequence[int], cells: dict[int, Array]) -> None:
        """Positions of some systems before the trial, and their cells if these have changed."""
        if not numbers:
            return
        self._tell("back", [int(k in numbers) for k in range(len(systems.members))])
        if cells:
            systems.set_cells({k: cells[k] for k in numbers})
        self._propose(systems, self._kernels.restore)


def _wide(frame: Frame, cutoff: float) -> bool:
    heights = frame.heights[frame.pbc]
    return not len(heights) or bool(heights.min() > cutoff)


def _power(factor: float, degree: int) -> float:
    """To a negative whole power: that of the C library has other bits on each machine."""
    found = 1.0
    for _ in range(-degree):
        found *= factor
    return 1.0 / found
