"""Van der Waals, Coulomb and polarisation: energies, forces and virials at given charges.

All pairs within the cutoff have U(r) + coulomb q_i q_j K(r) (`pairs`), images and bonded pairs included. Each
atom has the polarisation energy chi q + eta q^2/2. Forces are the derivative at fixed charges. Sums over a
row have the order of `enumerate.row_sums`.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from taichimd.core.arguments import ArrayField, Bundle, Kernel, Number, kernel, types_of
from taichimd.core.errors import SettingsError
from taichimd.core.runtime import blocks_for, computed_in, grid, literals, ti
from taichimd.enumerate.access import store_matrix
from taichimd.enumerate.reproducible_sum import ALL, FORCE, empty_sums, with_term
from taichimd.enumerate.row_sums import LANES, across, threads_of_row, whole_chunks
from taichimd.forcefields.reaxff.batched import Batched, whose_functions
from taichimd.forcefields.reaxff.charges import Charges
from taichimd.forcefields.reaxff.matrix import Matrix, Screening, types_with_pairs
from taichimd.forcefields.reaxff.options import Constants
from taichimd.forcefields.reaxff.pair_tables import COLUMNS, Look, fill_kernel, look_up, pairs_of
from taichimd.forcefields.reaxff.pairs import LEAST_R2, Form, Shapes, Values, pair_function
from taichimd.forcefields.reaxff.solve_tables import CHARGE, ELEMENTS, SHIFTS, SOLVED, Progress
from taichimd.forcefields.reaxff.solver import loop_ends
from taichimd.neighbours.entries import straight_vector_to
from taichimd.neighbours.rows import row_layout, slot
from taichimd.system.state import Atoms, State

LEAST_INTERVALS = 100
NUMBERS = 14
"""Results of an atom: force 3, energies 2, virial 9."""


class Given(Bundle):
    """What the loops read; `batched` is of several systems alone."""

    threads: Any = Number("i32", "of the loop over rows")
    atoms: Any = Atoms
    shifts: Any = SHIFTS
    matrix: Any = Matrix
    charge: Any = CHARGE
    shapes: Any = Shapes
    screening: Any = Screening
    constants: Any = Constants
    elements: Any = ELEMENTS
    progress: Any = Progress
    batched: Any = Batched


class Results(Bundle):
    """What nonbonded terms leave, in spatial order; a pair's energy belongs to its atoms in halves."""

    force: Any = ArrayField("vec", "n", "force on each atom, eV/angstrom")
    virial: Any = ArrayField("real", "9n", "3x3 virial of each atom, eV")
    van_der_waals: Any = ArrayField("real", "n", "energy of each atom, eV")
    coulomb: Any = ArrayField("real", "n", "likewise")
    polarisation: Any = ArrayField("real", "n", "likewise")


@dataclass(frozen=True)
class NonbondedKernels:
    """Kernels of pairs at known charges. `forces`: forces alone. `everything`: energies and virials, too."""

    forces: Kernel
    everything: Kernel


@cache
def nonbonded_kernels(
    real: Any,
    stored: Any,
    n_kinds: int,
    backend: str,
    form: Form,
    tabulated: bool,
    batch: bool = False,
    blocks: int = 0,
) -> NonbondedKernels:
    """The kernels for a precision, number of kinds and van der Waals form.

    `tabulated`: pairs are looked up; then the kernels take a `Look` for `Shapes`. `batch`: there are several
    systems. `blocks`: of the grid that the kernels are compiled for.
    """
    types = types_with_pairs(types_of(real), stored)
    tapers = ("lower", "inverse_width", "inverse_gamma3") if tabulated else ("lower", "inverse_width")
    layout = row_layout(backend)
    many = threads_of_row(layout)
    pair = look_up if tabulated else pair_function(form)
    status = whose_functions(batch, 1).status

    @ti.func
    def add_lane(sums: ti.template(), i, lane, does, want: ti.template(), g: ti.template()):
        """Add force, energies and virial of a lane of the row of atom i."""
        terms = ti.static(3 if want == FORCE else NUMBERS)
        here, a, q = g.atoms.pos[i], g.atoms.kind[i], ti.cast(g.charge[i], ti.f64)
        n, width, shift_bits = g.atoms.n, g.matrix.width, g.matrix.shift_bits
        count = 0
        if does:
            count = g.matrix.count[i]
        for c in range(whole_chunks(count)):
            s = c * LANES + lane
            if s < count:
                entry = g.matrix.entries[slot(i, s, n, width, layout)]
                j = entry >> shift_bits
                d = ti.cast(straight_vector_to(entry, shift_bits, here, g.atoms.pos, g.shifts), ti.f64)
                r2 = ti.max(d.dot(d), LEAST_R2)
                u, w, k, dk = pair(r2, a, g.atoms.kind[j], n_kinds, g.shapes, g.screening)
                product = g.constants.coulomb * (q * ti.cast(g.charge[j], ti.f64))
                f = (w + product * dk) * d
                for x in ti.static(range(3)):
                    with_term(sums, terms, x, f[x])
                if ti.static(want == ALL):
                    with_term(sums, terms, 3, 0.5 * u)
                    with_term(sums, terms, 4, 0.5 * product * k)
                    for x in ti.static(range(9)):
                        with_term(sums, terms, 5 + x, -0.5 * d[x // 3] * f[x % 3])

    @ti.func
    def store(i, total, want: ti.template(), g: ti.template(), results: ti.template()):
        results.force[i] = ti.cast(ti.Vector([total[0], total[1], total[2]]), real)
        if ti.static(want == ALL):
            results.van_der_waals[i] = ti.cast(total[3], real)
            results.coulomb[i] = ti.cast(total[4], real)
            chi, eta = g.elements[2 * g.atoms.kind[i]], g.elements[2 * g.atoms.kind[i] + 1]
            q = ti.cast(g.charge[i], ti.f64)
            results.polarisation[i] = ti.cast(g.constants.polarisation * (q * (chi + 0.5 * eta * q)), real)
            w = ti.Matrix([[total[5 + 3 * x + y] for y in ti.static(range(3))] for x in ti.static(range(3))])
            store_matrix(results.virial, i, ti.cast(w, real))

    @computed_in(ti.f64)
    def of_atoms(want: ti.template(), g: ti.template(), results: ti.template()):
        for thread in range(g.threads):
            i = ti.min(thread // many, g.atoms.n - 1)
            does = thread < g.atoms.n * many and status(i, g) == SOLVED
            terms = ti.static(3 if want == FORCE else NUMBERS)
            sums = empty_sums(terms)
            if ti.static(many > 1):
                add_lane(sums, i, thread % many, does, want, g)
            elif does:
                for lane in range(LANES):
                    add_lane(sums, i, lane, does, want, g)
            total = across(sums, terms, many)
            if does and thread % many == 0:
                store(i, total, want, g, results)

    given = Given.only(
        "threads", "shifts", "charge", "constants", "elements", atoms=Atoms.only("n", "pos", "kind"),
        matrix=Matrix.only("width", "shift_bits", "count", "entries"), shapes=Look if tabulated else Shapes,
        screening=Screening.only(*tapers), progress=Progress.only("flags"),
        batched=Batched.only("system") if batch else None,
    )  # fmt: skip

    @kernel(types, g=given, results=Results.only("force"))
    def forces(g, results):
        """Forces alone, if charges are known. Launch: one thread per row, or eight."""
        of_atoms(FORCE, g, results)

    @kernel(types, g=given, results=Results)
    def everything(g, results):
        """Forces, energies and virials, if charges are known."""
        of_atoms(ALL, g, results)

    return NonbondedKernels(forces, everything)


class Nonbonded:
    """Nonbonded terms of one system or several.

    Args:
        state: the atoms.
        charges: of the same atoms.
        table: of `pairs.pair_table`.
        form: parts of the van der Waals energy.
        exponent: p of the shielding.
        backend: "cuda" or "cpu".
        constants: of the charges' energy.
        intervals: of look-up tables, for each pair of kinds; None: pairs are computed.

    Raises:
        SettingsError: an exponent of 0 or less, with shielding; fewer than 100 intervals.

    Attributes:
        results: what the last evaluation left (`Results`), in spatial order.
    """

    def __init__(
        self,
        state: State,
        charges: Charges,
        table: Values,
        form: Form,
        exponent: float,
        backend: str,
        constants: Constants,
        intervals: int | None = None,
    ) -> None:
        if form.shielded and not exponent > 0.0:
            raise SettingsError(
                f"general parameter 29 (p_vdW1) is {exponent}, expected more than 0; correct the file"
            )
        if intervals is not None and intervals < LEAST_INTERVALS:
            raise SettingsError(
                f"{intervals} intervals of tables, expected {LEAST_INTERVALS} or more; try 1000"
            )
        self._state, self._charges = state, charges
        self._threads, _ = loop_ends(state.n, backend)
        self._blocks = blocks_for(8 * state.n)
        n_kinds = len(table)
        self._kernels = nonbonded_kernels(
            state.real, charges.stored, n_kinds, backend, form, intervals is not None, state.batch,
            self._blocks,
        )  # fmt: skip
        pairs = ti.ndarray(ti.f64, table.size)
        pairs.from_numpy(np.ascontiguousarray(table, np.float64).reshape(-1))
        self._shapes: Any = Shapes(
            half_exponent=0.5 * exponent,
            inverse_exponent=1.0 / exponent if form.shielded else 1.0,
            pairs=pairs,
        )
        if intervals is not None:
            look = Look(
                intervals=intervals,
                per_angstrom=intervals / charges.screening.cutoff,
                coefficients=ti.ndarray(ti.f64, pairs_of(n_kinds) * intervals * COLUMNS),
            )
            with literals(ti.f64):
                fill_kernel(form)(n_kinds, look, self._shapes, charges.screening)
            self._shapes = look
        self.constants = constants
        lengths = {"n": state.n, "9n": 9 * state.n}
        self.results = Results(
            *(ti.ndarray(state.types[f.type], lengths[f.length]) for f in Results.fields.values())
        )

    def queue(self, shifts: Any, want: int) -> None:
        """Queue an evaluation with the charges and the pairs of the last solve.

        Without pairs it does nothing.

        Args:
            shifts: vectors of images by code.
            want: `reproducible_sum.FORCE`, or ALL for energies and virials as well.
        """
        run = self._kernels.everything if want == ALL else self._kernels.forces
        of = self._charges
        given = Given(
            self._threads, self._state, shifts, of.matrix, of.charge, self._shapes, of.screening,
            self.constants, of.elements, of.progress, of.batched,
        )  # fmt: skip
        with literals(self._state.real), grid(self._blocks):
            run(given, self.results)
