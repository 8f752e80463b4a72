"""The kernels of one system, or of several, and their arrays: what `Systems` and minimisers are made of."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from taichimd.core.arguments import fit
from taichimd.core.arrays import Array
from taichimd.core.errors import EvaluationError, TaichimdError
from taichimd.core.runtime import blocks_beside_steps, blocks_for, grid, literals, ti
from taichimd.ensembles.bath import Baths
from taichimd.ensembles.drives.host import Drives
from taichimd.ensembles.held import hold_kernel
from taichimd.enumerate.evaluator import ENERGY, REST
from taichimd.enumerate.outputs import Outputs, outputs_for
from taichimd.enumerate.reproducible_sum import ALL, FORCE
from taichimd.neighbours.control import ANY_TIME, END, NONE, STEP
from taichimd.program.evaluation import evaluation_kernels, tally_writes_forces
from taichimd.program.evaluators import Evaluators
from taichimd.program.groups import Choice
from taichimd.program.steps.verlet import step_kernels
from taichimd.program.totals import Centre, Sums
from taichimd.program.unroll import steps_per_call
from taichimd.program.variant import FEW, LoopFlags, Reach, SystemTables, Variant
from taichimd.system.checks import check_positions, check_turns
from taichimd.system.state import State


class Device:
    """Queues kernels for one system, or several, and knows what of their results is still true.

    Args:
        state, choice, baths: atoms with positions; the force field, bound to their species; thermostats ...
        fused: whether forces of a single group go straight to velocities, or each pass has loops of its own.
        with_lists: whether lists are made at once; else when something needs them.

    Attributes:
        groups: of terms, how each is done. lists: what the force loops read.
        unroll: steps per kernel call. step: number of the step of the present positions.
        forces_known: whether forces belong to the present positions. evaluated: whether `outputs` do.
        blown: whether the state is that of a failed step.
        listed: called whenever lists were made, before anything reads them; or None.
        evaluators: of groups with kernels of their own.
        meanwhile: called while the device does steps, or None; it must not wait for the device. It takes the
            number of runs that were queued.
    """

    listed: Callable[[], None] | None = None
    meanwhile: Callable[[int], None] | None = None

    def __init__(
        self,
        state: State,
        choice: Choice,
        baths: Baths,
        *,
        fused: bool = True,
        with_lists: bool = True,
        drives: Drives | None = None,
    ) -> None:
        self.state, self.baths, self.cells = state, baths, baths.cells
        self.drives = drives if drives is not None and drives.kinds.some else None
        self.step = 0
        self.groups = groups = choice.groups(state.n, choice.pages(state, baths.cells.frames))
        self._blocks = blocks_for(state.n * max(group.threads_per_atom for group in groups))
        variant = Variant(
            groups, state.real, state.term, choice.backend, blocks=self._blocks, coupling=baths.coupling,
            few=choice.backend == "cpu" and state.n <= FEW and not baths.coupling.counts_steps,
        )  # fmt: skip
        split = not fit(**variant.of_call)
        self.unroll = 1 if split else steps_per_call(choice.backend, state.n, groups, baths.coupling)
        self._variant = replace(variant, split=split, unroll=self.unroll)
        self.lists = choice.lists(state, self._variant)
        energy, virial = ti.ndarray(state.real, state.n), ti.ndarray(state.real, 9 * state.n)
        self._total = Outputs(energy=energy, virial=virial)
        self._loops = LoopFlags(*(ti.ndarray(ti.i32, ()) for _ in range(4)))
        self._group_outputs = tuple(outputs_for(state) for _ in groups) if variant.adds_groups else ()
        left = self._group_outputs or (Outputs(energy, state.force, virial),)
        near = self.lists.near
        self.evaluators = Evaluators.of(choice, state, self.cells, near, left)
        self.forces_known = self.evaluated = self.blown = False
        self.totals = Sums(state)
        self._fused = fused
        self._compiled_for: Any = None
        self.reach = Reach(most_step2=(0.25 * self.lists.cutoff) ** 2)
        self._arrays = SystemTables(
            state, self.lists.verlet, self.lists.listed_at, near, self.lists.control, baths.arrays,
            self.cells.arrays, self.drives, self.reach, state.held,
        )  # fmt: skip
        if with_lists:
            self.settle()

    @property
    def variant(self) -> Variant:
        """What its kernels are compiled for."""
        return self._variant

    @property
    def outputs(self) -> tuple[Any, Any]:
        """Energies (n) and virials (9n), in spatial order, of the last forces."""
        return self._total.energy, self._total.virial

    def acted(self) -> None:
        """Baths have acted: the host's copies of their arrays, and of cells that move, are void."""
        self.baths.forget()
        if self.baths.moves_cell:
            self.cells.moved()
            self.lists.verlet.forget_cell()

    # Lists.

    def renew(self) -> bool:
        """Bring the lists up to date, in the cell as it is now; whether there was anything to do."""
        if not self.lists.due():
            return False
        self.lists.renew(self.cells.frames)
        self._choose_kernels()
        if self._run.listed is not None:
            self.call(self._run.listed, *self.lists.reaches(), self.cells.arrays)
        if self.listed is not None:
            self.listed()
        return True

    def _choose_kernels(self) -> None:
        """Kernels for what the lists search with; it hardly ever changes."""
        verlet = self.lists.verlet
        if verlet.search != self._compiled_for:
            search = verlet.search if self._variant.loops else None
            self._run = step_kernels(self._variant, search, self._fused, len(self.state.carried))
            self._compiled_for = verlet.search

    def explode(self) -> None:
        """The last step has failed: its lists are void."""
        self.blown = True
        self.lists.outdate()

    def settle(self) -> None:
        """Lists that are fit; the state of a failed step has some only if its positions make sense."""
        if self.blown:
            positions = self.state.get("pos")
            check_positions(positions, self.state.n)
            check_turns(positions, self.cells.frame(0))
        while self.renew():
            self.lists.look()

    def fit_lists(self, move: float) -> None:
        """Lists that serve until atoms have gone so far, angstrom, from where they are."""
        self.lists.allow(move)
        while True:
            self.settle()
            self.system()
            self.reach.most_near2 = (self.lists.skins.near - move) ** 2
            self.call(self._run.moved, self._arrays)
            self.call(self._run.cut_lists, self.system())
            if not self.lists.look().rebuild:
                return

    def moved(self) -> None:
        """Positions came from outside: outdate the list if they break it."""
        self.forces_known = self.evaluated = self.blown = False
        self.lists.jumped = True
        self.jumped(True)
        self.call(self._run.moved, self.system())

    def folded(self) -> None:
        """Atoms went to other images of their places: lists are void, and last digits of forces change."""
        self.forces_known = self.evaluated = False
        self.lists.outdate()

    def jumped(self, jumped: bool) -> None:
        """Whether the next evaluation beside a run is of other positions than the last one."""
        self.evaluators.jumped(jumped)

    # Forces.

    def queue_forces(self, timestep: float = 0.0, want: int = ALL, at: int | None = None) -> None:
        """Queue one call of `finish`; does not wait for it.

        It does nothing with an outdated list, nor, with a time step, before the end of a run at step `at`.
        """
        self._queue_groups(END if timestep > 0.0 else ANY_TIME, want)
        evaluate = self._run.evaluate
        if want not in (ALL, ENERGY, REST):
            evaluate = evaluation_kernels(self._variant.outside_steps, want).evaluate
        with literals(self.state.real), grid(blocks_beside_steps()):
            evaluate(self.system(), self._total, self._group_outputs, int(timestep > 0.0))
        if self.drives is not None and want not in (ENERGY, REST):
            kernels = self.drives.kernels
            add = kernels.end_run if timestep > 0.0 else kernels.add_forces
            self.call(add, self.state, self.lists.control, self.drives, self.step if at is None else at)
        if timestep > 0.0:
            self.call(self._run.last_kick, self._arrays, timestep)
            self.hold()

    def _queue_groups(self, when: int, want: int) -> None:
        """Queue the kernels of groups that have their own."""
        if self.evaluators:
            self.acted()
            self.call(self._run.cut_lists, self.system())
            self.evaluators.queue(self.call, self.lists.verlet, self.lists.control, self.step, when, want)

    def terms(self) -> list[dict[str, float]]:
        """For each system the energies (eV) of the terms of groups with kernels of their own."""
        if self.evaluators:
            self.need_outputs()
        return self.evaluators.terms(len(self.state.parts))

    def atom_values(self) -> dict[str, Any]:
        """Values of atoms of groups with kernels of their own, of all systems at their present positions."""
        if self.evaluators:
            self.need_outputs()
        return self.evaluators.atom_values()

    def works(self) -> list[float] | None:
        """Work on each system by what depends on time in the potential, eV; None if nothing does."""
        found = (one.works() for one in self.evaluators)
        return next((works for works in found if works is not None), None)

    def statistics(self) -> dict[str, Any]:
        """Figures for reports, of lists and of groups with kernels of their own."""
        own = self.evaluators.statistics()
        return {**self.lists.statistics(), "steps_per_call": self.unroll, **own}

    def system(self) -> SystemTables:
        """What most kernels take."""
        self.reach.most_near2, self.reach.most_drift2 = self.lists.near2, self.lists.drift2
        return self._arrays

    def finish(self, want: int = ALL) -> None:
        """Forces, energies and virials of the present positions; forces alone, or energies alone."""
        if self.blown:
            self.settle()
        while True:
            # Forces are queued after a build that may not fit, so the host waits once.
            self.renew()
            self.queue_forces(want=want)
            seen = self.lists.look()
            self.evaluators.check()
            if not seen.rebuild:
                break
        self.jumped(False)
        self.forces_known, self.evaluated = want not in (ENERGY, REST), want == ALL

    def need_forces(self) -> None:
        """Forces of the present positions."""
        if not self.forces_known:
            self.finish()

    def need_outputs(self) -> None:
        """Energies and virials of the present positions."""
        if not self.evaluated:
            self.finish()

    def sums(self, what: str) -> Array:
        """(systems, columns) of `program.totals`, as the last `finish` has left them."""
        return self.totals.of(self.state, what, *self.outputs)

    def centres(self, state: State) -> list[Centre]:
        """Centre of mass of each system of a state, whose positions may be unfolded."""
        return self.totals.centres(state, *self.outputs)

    def potentials(self) -> list[float]:
        """Potential energy of each system, eV, as the last `finish` has left it."""
        found: list[float] = self.totals.of(self.state, "totals", *self.outputs, slice(1))[:, 0].tolist()
        return found

    def bonds(self, look: Any = None) -> Any:
        """The `BondTable` of all systems, or what `look` makes of bonds on the device; None without."""
        self.need_outputs()
        return self.evaluators.bonds(self.call, self.lists.verlet, look)

    def measure_drives(self) -> None:
        """Queue energies of drives, and forces on them, of the present positions."""
        if self.drives is not None:
            self.call(self.drives.kernels.measure, self.state, self.drives, self.step)

    # Steps.

    def begin(self, timestep: float) -> None:
        """A run with this time step begins: evaluators that depend on the time take it."""
        if self.evaluators.begin(timestep):
            self.forces_known = self.evaluated = False

    def queues_runs(self, number: int) -> bool:
        """Whether runs of so many steps can follow each other without the host."""
        kernels_only = not (self.evaluators or self.drives or self.baths.coupling.whole)
        return self._variant.loops and kernels_only and number > 1

    def steps(
        self, first: int, number: int, timestep: float, renew: Callable[[], object],
        between: Sequence[Callable[[], None]] = (),
    ) -> Iterator[tuple[int, int, dict[int, TaichimdError]]]:  # fmt: skip
        """Do some steps, at least one, from step `first` on, with known forces and lists that are fit.

        Whenever it has waited for the device, it yields the step that is reached, `blown` of the control
        array, and `failures`; then it brings lists up to date by `renew`.

        Of `between`, each is called when `number` steps are queued, before as many more are. If one of these
        runs needs the host, those after it do nothing.
        """
        lists, to_do, done, ahead = self.lists, number - 1, 0, len(between)
        self.evaluators.plan(first, number)
        self.call(self._run.open_step, self.system(), to_do, first, 0, timestep)
        self.forces_known = self.evaluated = False
        self.acted()
        while not self.evaluated:
            calls = lists.batches(to_do - done) if done < to_do else 0
            try:
                if calls:
                    self.step_batch(timestep, calls)
                # Behind steps of which the host does not know yet whether they end the run: it waits once.
                self.queue_forces(timestep, at=first + to_do + 1)
                for k in range(1, ahead + 1):
                    between[k - 1]()
                    begin = first + k * number
                    self.call(self._run.open_step, self.system(), to_do, begin, k, timestep)
                    self.step_batch(timestep, calls)
                    self.queue_forces(timestep)
                if self.meanwhile is not None:
                    self.meanwhile(ahead + 1)
                ahead = 0
            except EvaluationError as error:
                step = first + 1 + lists.look().done
                error.args = (f"step {step}: {error}",)
                self.explode()
                yield step, NONE, {}
                raise
            seen = lists.look()
            failed = self.evaluators.failures()
            before, blown = done, seen.blown
            done, to_do = (seen.opened - 1) * number + seen.done, seen.opened * number - 1
            if calls:
                self.acted()
                lists.count(done - before)
            # First: positions that diverged would not fit a list.
            self.step = first + 1 + done
            yield self.step, blown, failed
            self.forces_known = self.evaluated = done == to_do and not seen.rebuild and blown == NONE
            renew()
        if self.baths.coupling.ends(self.step):
            self.close_step(self.state.n, self.step, timestep)
            self.acted()

    def step_batch(self, timestep: float, calls: int = 1) -> None:
        """Queue some calls of `steps`."""
        # In a cell that moves, the host lays out the bins along directions without periodicity.
        lays_out = self.baths.moves_cell and not self.lists.bins_hold
        self._loops.builds_allowed = 0 if lays_out else self.lists.most_builds
        self._loops.most_age = self.lists.most_age
        state = self.state
        spare: tuple[Any, ...] = self.lists.verlet.sort, state.spare
        if self._variant.loops:
            spare = self.lists.verlet.sort, state.carried, state.spare, state.spare_carried
        each = 1 if self.evaluators else calls
        for _ in range(calls // each):
            self._queue_groups(STEP, ALL if self.baths.moves_cell else FORCE)
            with literals(state.real), grid(self._blocks):
                self._run.steps.repeat(
                    each, self.system(), self._group_outputs, *spare, self._loops, timestep
                )

    def last_kick(self, timestep: float) -> None:
        """Queue the last half kick of a run, with forces that are known."""
        self.call(self._run.last_kick, self.system(), timestep)

    def close_step(self, n: int, step: int, timestep: float) -> None:
        """Queue what acts on the whole system at the end of a step, for n atoms (0: only compile)."""
        if self._run.tally_virial is not None:
            self.call(self._run.tally_virial, self.system(), self._total, self._group_outputs, n)
            if n > 0 and self.drives is not None and tally_writes_forces(self._variant):
                self.call(self.drives.kernels.add_forces, self.state, self.lists.control, self.drives, step)
        self.call(
            self._run.close_step, self.state, self.baths.arrays, self.cells.arrays, n, timestep, step - 1
        )
        self.hold()

    def hold(self) -> None:
        """Queue that atoms have no velocity along directions in which they are held."""
        if self.state.held is not None:
            self.call(hold_kernel(self.state.real), self.state, self.state.held)

    def warm_up(self, step: int) -> None:
        """Compile what a run from a step on needs, its rows and checkpoints too; changes nothing."""
        self.need_outputs()
        self.potentials()
        self.state.get("vel")
        self.step_batch(1.0)
        if self.baths.coupling.whole:
            self.close_step(0, step, 1.0)
        ti.sync()

    def launch(self, kernel: Any, *args: Any) -> None:
        """Queue a kernel that may move atoms: what was known of the forces is void."""
        self.forces_known = self.evaluated = False
        self.call(kernel, *args)

    def call(self, kernel: Any, *args: Any) -> None:
        """Queue a kernel, compiled for this system's precision and size."""
        with literals(self.state.real), grid(self._blocks):
            kernel(*args)
