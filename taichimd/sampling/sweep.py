"""Chains whose systems are on one device, and their sweeps: trial moves of the atoms, then of the volume.

Kernels and evaluations are of all systems at once. Each chain decides for itself, on the host, with its own
random numbers, so that its bits do not depend on the other chains.
"""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from taichimd.core.arguments import Kernel
from taichimd.core.arrays import Array
from taichimd.core.errors import StructureError
from taichimd.core.host_copies import to_device
from taichimd.core.philox import GLOBAL, blocks, uniforms
from taichimd.core.runtime import ti
from taichimd.core.streams import MC_MOVE, MC_SWEEP
from taichimd.program.energies import Energy
from taichimd.program.system import System
from taichimd.sampling.kinds import ALL, SINGLE
from taichimd.sampling.metropolis import Metropolis
from taichimd.sampling.proposals import proposals
from taichimd.sampling.singles import SingleMoves, singles_for
from taichimd.sampling.trials import Trials

MOVE, VOLUME, VOLUME_MOVE, BOARD = range(4)
"""Uniform numbers of a sweep: acceptance of the move of all atoms, change of ln V, its acceptance; the others
are of the board."""
NUMBERS = BOARD + 11


class ChainGroup:
    """Systems of chains on one device, whose settings differ in temperatures, step sizes and seeds.

    It does not hold the chains, which hold it: else the device's memory would wait for the garbage collector.

    Args:
        members: systems of the chains, all of one `Systems`.
        kind: of their moves.

    Attributes:
        members: as given. systems: that have them.
        singles: of chains of single moves, what knows how they change energies; else None.
        kernels: that propose moves of whole systems.
    """

    def __init__(self, members: Sequence[System], kind: str) -> None:
        self.members, self.systems = members, (systems := members[0].systems)
        self._all, self._cutoff = range(len(members)), members[0].forcefield.cutoff
        self.singles: SingleMoves | None = None
        if kind == SINGLE:
            first = members[0]
            self.singles = singles_for(systems.device, first.forcefield, set(first.symbols), first.backend)
        state = systems.device.state
        self.kernels = proposals(state.real)
        self._before = ti.ndarray(state.vec, state.n)
        of_systems = [name for name, field in Trials.fields.items() if field.length == "systems"]
        made = {name: ti.ndarray(state.types[Trials.fields[name].type], len(members)) for name in of_systems}
        self._trials, self._told = Trials(system=state.system, **made), {name: np.zeros(0) for name in made}
        self._tell("firsts", state.firsts)

    def advance(self, chains: Sequence[Metropolis], sweeps: int) -> None:
        """So many sweeps of all chains; after an error several are where they were, all at one sweep."""
        if any(one.known is None for one in chains):
            for one, energy in zip(chains, self.systems.energies(), strict=True):
                one.known = one.known or energy
        before = [
            (chain, one, one.positions(), one.cell, chain.step, chain.bath_state())
            for chain, one in zip(chains, self.members, strict=True)
            if len(chains) > 1
        ]
        try:
            for _ in range(sweeps):
                self._sweep(chains)
                for one in chains:
                    one.count_sweep()
        except BaseException:
            for chain, system, positions, cell, step, state in before:
                system.set_state(positions=positions, cell=cell)
                chain.step = step
                chain.restore(state)
            raise

    def totals(self, number: int) -> tuple[float, Array]:
        """Potential energy (eV) and virial ((3, 3), eV) of a system, of a full evaluation."""
        potential, _, *virial = self.systems.sums("totals")[number]
        return float(potential), np.reshape(virial, (3, 3))

    def _sweep(self, chains: Sequence[Metropolis]) -> None:
        """One sweep of all, which have a pressure or have none."""
        first, seeds = chains[0], [one.seed for one in chains]
        words = blocks(seeds, np.full(len(chains), GLOBAL), first.step, MC_SWEEP, 0, (NUMBERS + 1) // 2)
        uniform = uniforms(words).reshape(len(chains), -1)[:, :NUMBERS]
        self._tell("seeds", seeds)
        if first.kind == ALL:
            self._displace(chains, self._all, uniform[:, MOVE].tolist())
        else:
            narrow = [k for k in self._all if self.singles is None or not self._is_wide(k)]
            if self.singles is not None and len(narrow) < len(chains):
                self._move_singles(self.singles, chains, narrow, uniform[:, BOARD:])
            if narrow:
                self._displace_each(chains, narrow)
        if first.pressure is not None:
            self._change_volumes(chains, uniform)

    def _is_wide(self, number: int) -> bool:
        """Whether no atom of a system is in range of its own image; else its moves have full evaluations."""
        frame = self.members[number].frame
        heights = frame.heights[frame.pbc]
        return not len(heights) or bool(heights.min() > self._cutoff)

    def _move_singles(
        self, singles: SingleMoves, chains: Sequence[Metropolis], narrow: Collection[int], uniform: Array
    ) -> None:
        """Trial moves of single atoms that kernels decide on; atoms of narrow systems stay."""
        systems = self.systems
        before = [one.energy for one in chains]
        wide = [k for k in self._all if k not in narrow]
        self._tell_most(chains, wide)
        self._tell("beta", [one.beta for one in chains])
        most = max(chains[k].moves.size for k in wide)
        frames = [member.frame for member in self.members]
        changes = singles.sweep(frames, list(uniform), self._trials, most, chains[0].step)
        systems.forget()
        rough = any(changes[k][0] is None for k in wide)
        whole = systems.energies() if rough else []
        for k in wide:
            one, (change, accepted) = chains[k], changes[k]
            one.known = whole[k] if change is None else (before[k] + change, None)
            one.moves.count(accepted, one.free)

    def _displace_each(self, chains: Sequence[Metropolis], numbers: Sequence[int]) -> None:
        """A trial move of each free atom of some systems, with a full evaluation each."""
        chances, free = {}, {}
        for k in numbers:
            one, fixed = chains[k], self.members[k].fixed
            atoms = np.arange(one.n_atoms)
            chances[k] = uniforms(blocks(one.seed, atoms, one.step, MC_MOVE, 1, 1))[:, 0, 1].tolist()
            free[k] = set((atoms if fixed is None else np.flatnonzero(~fixed)).tolist())
        for atom in sorted(set().union(*free.values())):
            moving = [k for k in numbers if atom in free[k]]
            self._displace(chains, moving, [chances[k][atom] for k in moving], atom)

    def _displace(
        self, chains: Sequence[Metropolis], numbers: Sequence[int], uniform: Sequence[float], only: int = -1
    ) -> None:
        """Move all atoms of some systems, or one of each, and decide by a uniform number of each."""
        members = self.members
        old = [one.energy for one in chains]
        self._tell_most(chains, numbers)
        self._propose(self.kernels.displace, chains[0].step, only)
        out = {k for k in self._all if k not in numbers}
        out |= {k for k in numbers if chains[k].leaves(members[k].positions, members[k].cell)}
        new = self._trial_energies(out, [None] * len(chains), {})
        accepted = {
            k: chains[k].accepts(chance, new[k][0] - old[k])
            for k, chance in zip(numbers, uniform, strict=True)
        }
        self._decide(chains, accepted, new, {})

    def _change_volumes(self, chains: Sequence[Metropolis], uniform: Array) -> None:
        systems = self.systems
        running, cells = [one.running() for one in chains], [one.cell for one in self.members]
        trials = [one.trial_volume(float(uniform[k, VOLUME])) for k, one in enumerate(chains)]
        after = [cell * factor for cell, (_, factor) in zip(cells, trials, strict=True)]
        self._tell("factors", [factor for _, factor in trials])
        self._propose(self.kernels.scale)
        systems.set_cells(dict(enumerate(after)))
        degree, known = systems.device.evaluators.degree, [homogeneous for _, homogeneous in running]
        for k, (_, factor) in enumerate(trials):
            part = known[k]
            known[k] = part * _power(factor, degree) if degree and part is not None else None
        before = dict(enumerate(cells))
        new = self._trial_energies(set(), known, before)
        accepted = {
            k: one.accepts_volume(
                float(uniform[k, VOLUME_MOVE]), new[k][0] - running[k][0], trials[k][0], (cells[k], after[k])
            )
            for k, one in enumerate(chains)
        }
        self._decide(chains, accepted, new, before)

    def _tell_most(self, chains: Sequence[Metropolis], numbers: Collection[int]) -> None:
        """The largest displacements; 0 of systems that do not move."""
        self._tell("most", [one.moves.size if k in numbers else 0.0 for k, one in enumerate(chains)])

    def _tell(self, name: str, values: Any) -> None:
        """Numbers of systems that the device has to know."""
        array, before = getattr(self._trials, name), self._told[name]
        numbers = np.asarray(values, ti.lang.util.to_numpy_type(array.dtype))
        if not np.array_equal(numbers, before):
            to_device(array, numbers)
            self._told[name] = numbers

    def _propose(self, kernel: Kernel, *numbers: int) -> None:
        device = self.systems.device
        device.launch(kernel, device.state, self._before, self._trials, *numbers)
        device.moved()
        self.systems.forget()

    def _trial_energies(
        self, out: Collection[int], known: Sequence[float | None], cells: dict[int, Array]
    ) -> list[Energy]:
        """Energies of trial configurations; infinity if one is out, or has atoms on top of each other."""
        systems, failed = self.systems, set(out)
        lists = systems.device.lists
        found: list[Energy] = [(np.inf, None)] * len(known)
        while len(failed) < len(known):
            try:
                energies = systems.energies(known)
            except StructureError:
                close = systems.state.system_of(lists.atom_too_close())
                failed.add(close)
                self._undo([close], cells)
                lists.outdate()
            else:
                return [found[k] if k in failed else energy for k, energy in enumerate(energies)]
        return found

    def _decide(
        self, chains: Sequence[Metropolis], accepted: dict[int, bool], energies: Sequence[Energy],
        cells: dict[int, Array],
    ) -> None:  # fmt: skip
        """Chains whose trial is accepted take its energy; the others go back."""
        for k, yes in accepted.items():
            if yes:
                chains[k].known = energies[k]
        self._undo([k for k, yes in accepted.items() if not yes], cells)

    def _undo(self, numbers: Sequence[int], cells: dict[int, Array]) -> None:
        """Positions of some systems before the trial, and their cells if these have changed."""
        if not numbers:
            return
        self._tell("back", [int(k in numbers) for k in self._all])
        if cells:
            self.systems.set_cells({k: cells[k] for k in numbers})
        self._propose(self.kernels.restore)


def _power(factor: float, degree: int) -> float:
    """To a negative whole power: that of the C library has other bits on each machine."""
    found = 1.0
    for _ in range(-degree):
        found *= factor
    return 1.0 / found
