"""Electronegativities of atoms in a field and in QEqR and QTPIE, and energies and forces of charge models.

The potential of a uniform field E is phi = -E . x. With overlaps S of normalised 1s Gaussians,

    S_ij = (2 sqrt(a_i a_j)/(a_i + a_j))^(3/2) exp(-a_i a_j/(a_i + a_j) r^2),   D_i = 1 + sum_j S_ij,
    QEq, ACKS2:  chi*_i = chi_i + phi_i
    QEqR:        chi*_i = chi_i + sum_j S_ij beta (phi_i - phi_j)/D_i
    QTPIE:       chi*_i = sum_j S_ij [chi_i - chi_j + beta (phi_i - phi_j)]/D_i

over all images, phi_i - phi_j = E . (x_j - x_i) with the image that is met: J. Chen, T. J. Martinez, Chem.
Phys. Lett. 438, 315 (2007); P. Lalli, A. Giusti, J. Chem. Phys. 162, 174311 (2025), as the manual of LAMMPS
gives them. Overlaps end at R = sqrt(2 ln(1e10)/a) of the smallest exponent a.

Energies, with the constant k of the polarisation energy:

    as LAMMPS:   that of the bare chi, and k' sum q phi with a constant k' of its own; forces at fixed charges
    consistent:  k (sum chi* q + q H q/2), stationary at the solved q: its forces need dchi*/dx alone

For an entry d = x_j - x_i with the bracket v above (without chi for QEqR), its average g_i = chi*_i (QEqR:
chi*_i - chi_i) and w_i = k q_i/D_i,

    dE/dd = [w_i (v - g_i) - w_j (v + g_j)] dS/dd + beta S (w_i - w_j) E.

ACKS2 adds k [u (q - q0) + u X u/2] (`softness`), whose derivative to x is that of X alone.

A field that depends on time does work, W = -integral of P . dE: the energy is linear in the field at given
charges, with P = k' sum q x, or, of consistent models with overlaps, P = -k sum_i q_i beta/D_i sum_j S_ij d.
Each step adds -(P + P')/2 . (E' - E) to W, atom by atom.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from taichimd.core.arguments import ArrayField, Bundle, Kernel, Number, kernel, types_of
from taichimd.core.math import exp
from taichimd.core.runtime import DeviceFunction, computed_in, ti
from taichimd.enumerate.access import load_matrix, store_matrix
from taichimd.enumerate.reproducible_sum import ALL, FORCE, empty_sums, total_of, with_term
from taichimd.enumerate.row_sums import across, threads_of_row
from taichimd.forcefields.reaxff.arrays import GO, STATUS
from taichimd.forcefields.reaxff.batched import Batched, whose_functions
from taichimd.forcefields.reaxff.matrix import AHEAD, types_with_pairs
from taichimd.forcefields.reaxff.nonbonded import Results
from taichimd.forcefields.reaxff.options import Constants
from taichimd.forcefields.reaxff.softness import Soft, softness
from taichimd.forcefields.reaxff.solve_tables import CHARGE, ELEMENTS, ROWS, SHIFTS, SOLVED, Progress, Vectors
from taichimd.neighbours.control import CONTROL
from taichimd.neighbours.entries import straight_vector_to
from taichimd.neighbours.rows import NearRows, row_layout, slot, whole_warps
from taichimd.system.state import Atoms

NUMBERS = 14
"""Results of an atom: force 3, energies of polarisation and softness 2, virial 9."""


class Response(Bundle):
    """What a model reads and leaves."""

    chi: Any = ArrayField("f64", "n", "electronegativity chi* of each atom, eV")
    norm: Any = ArrayField("f64", "n", "D of each atom")
    energy: Any = ArrayField("real", "n", "energy of each atom in the field, eV")
    field: Any = ArrayField("f64", "3", "field, V/angstrom")
    gauss: Any = ArrayField("f64", "2 kinds^2", "factor of S and a_i a_j/(a_i + a_j), 1/angstrom^2")
    reach2: Any = Number("f64", "square of the distance at which overlaps end, angstrom^2")
    scale: Any = Number("f64", "beta")
    field_ev: Any = Number("f64", "energy of 1 e in a potential of 1 V, eV")


class Work(Bundle):
    """Work of a field that depends on time: states of the atoms, in spatial order."""

    done: Any = ArrayField("real", "n", "work so far, eV")
    x: Any = ArrayField("real", "n", "share of P of the last evaluation along x, e angstrom, in eV/V")
    y: Any = ArrayField("real", "n", "likewise along y")
    z: Any = ArrayField("real", "n", "likewise along z")
    field: Any = ArrayField("f64", "3", "field of the last evaluation, V/angstrom")


class Around(Bundle):
    """What the loops read besides."""

    atoms: Any = Atoms
    near: Any = NearRows
    shifts: Any = SHIFTS
    shift_bits: Any = Number("i32", "low bits of an entry that hold the code of its image")
    elements: Any = ELEMENTS
    charge: Any = CHARGE
    constants: Any = Constants
    progress: Any = Progress
    soft: Any = Soft
    v: Any = Vectors
    batched: Any = Batched


@dataclass(frozen=True)
class Kind:
    """What kernels are compiled for."""

    overlaps: bool  # as of `models.Model`
    differences: bool  # as of `models.Model`
    pulls: bool  # as of `models.Model`
    field: bool  # whether there is one
    consistent: bool  # as of `models.Model`
    soft: bool  # whether the model is ACKS2


@dataclass(frozen=True)
class ResponseKernels:
    """Kernels of a model."""

    before: Kernel  # electronegativities
    forces: Kernel  # adds forces of the charges
    everything: Kernel  # adds forces, energies and virial of the charges
    book: Kernel  # work of the field


@cache
def response_kernels(
    real: Any, n_kinds: int, backend: str, kind: Kind, batch: bool = False, blocks: int = 0
) -> ResponseKernels:
    """The kernels for one precision, number of species, kind of model and grid of `blocks`."""
    types = types_with_pairs(types_of(real), ti.f64)
    layout = row_layout(backend)
    many = threads_of_row(layout)
    ahead = AHEAD if many > 1 else 1
    status = whose_functions(batch, 1).status

    @ti.func
    def vector_of(entry, here, g: ti.template()):
        return ti.cast(straight_vector_to(entry, g.shift_bits, here, g.atoms.pos, g.shifts), ti.f64)

    @ti.func
    def field_of(response: ti.template()):
        return ti.Vector([response.field[0], response.field[1], response.field[2]])

    @ti.func
    def overlap(i, j, r2, g: ti.template(), response: ti.template()):
        """S and dS/d(r^2) of two atoms, 0 beyond the reach."""
        at, s, slope = 2 * (g.atoms.kind[i] * n_kinds + g.atoms.kind[j]), 0.0, 0.0
        if r2 <= response.reach2:
            p = response.gauss[at + 1]
            s = response.gauss[at] * exp(-p * r2)
            slope = -p * s
        return s, slope

    @ti.func
    def difference(i, j, d, g: ti.template(), response: ti.template()):
        """The bracket of two atoms, eV."""
        v = 0.0
        if ti.static(kind.differences):
            v += g.elements[2 * g.atoms.kind[i]] - g.elements[2 * g.atoms.kind[j]]
        if ti.static(kind.field):
            v += response.scale * d.dot(field_of(response))
        return v

    @ti.func
    def own(i, g: ti.template()):
        """Electronegativity of an atom before averages: that of its kind, or 0."""
        chi = 0.0
        if ti.static(not kind.differences):
            chi = g.elements[2 * g.atoms.kind[i]]
        return chi

    def visit_of(act: DeviceFunction) -> DeviceFunction:
        """The function (sums, i, lane, does, mine, want, g, response): `act` on near entries of atom i."""

        @ti.func
        def visit(
            sums: ti.template(), i, lane, does, mine, want: ti.template(), g: ti.template(),
            response: ti.template()
        ):  # fmt: skip
            here, m = g.atoms.pos[i], 0
            if does:
                m = ti.min(g.near.count[i], g.near.width)
            for step in range((m - lane + many * ahead - 1) // (many * ahead)):
                first = lane + many * ahead * step
                # What is not there reads as the last one.
                read = [
                    g.near.entries[slot(i, ti.min(first + many * k, m - 1), g.atoms.n, g.near.width, layout)]
                    for k in ti.static(range(ahead))
                ]
                vectors = [vector_of(entry, here, g) for entry in ti.static(read)]
                for k in ti.static(range(ahead)):
                    if first + many * k < m:
                        act(sums, i, read[k] >> g.shift_bits, vectors[k], mine, want, g, response)

        return visit

    @ti.func
    def average_one(
        sums: ti.template(), i, j, d, mine, want: ti.template(), g: ti.template(), response: ti.template()
    ):
        """Add S v and S of an entry."""
        value, _ = overlap(i, j, d.dot(d), g, response)
        with_term(sums, 2, 0, value * difference(i, j, d, g, response))
        with_term(sums, 2, 1, value)

    add_averages = visit_of(average_one)

    @computed_in(ti.f64)
    def electronegativities(g: ti.template(), response: ti.template(), control: ti.template(), frozen):
        for thread in range(whole_warps(g.atoms.n * many)):
            i, does = ti.min(thread // many, g.atoms.n - 1), thread < g.atoms.n * many
            if control[frozen] == 0:
                chi, writes = own(i, g), does and thread % many == 0
                if ti.static(kind.overlaps):
                    sums = empty_sums(2)
                    add_averages(sums, i, thread % many, does, 0.0, ALL, g, response)
                    found = across(sums, 2, many)
                    if writes:
                        response.norm[i] = 1.0 + found[1]
                    chi += found[0] / (1.0 + found[1])
                elif ti.static(kind.field):
                    chi -= field_of(response).dot(ti.cast(g.atoms.pos[i], ti.f64))
                if writes:
                    response.chi[i] = chi

    @ti.func
    def add(sums: ti.template(), f, d, energy, want: ti.template()):
        """Add the force of an entry on its atom, half of the entry's energy and its virial."""
        terms = ti.static(3 if want == FORCE else NUMBERS)
        for x in ti.static(range(3)):
            with_term(sums, terms, x, f[x])
        if ti.static(want == ALL):
            with_term(sums, terms, 4, 0.5 * energy)
            for x in ti.static(range(9)):
                with_term(sums, terms, 5 + x, -0.5 * d[x // 3] * f[x % 3])

    @ti.func
    def add_overlap(
        sums: ti.template(), i, j, d, mine, want: ti.template(), g: ti.template(), response: ti.template()
    ):
        """What the derivative of chi* with an entry adds to the force on atom i; `mine`: its w and g."""
        value, slope = overlap(i, j, d.dot(d), g, response)
        if value != 0.0:
            v = difference(i, j, d, g, response)
            other = g.constants.polarisation * ti.cast(g.charge[j], ti.f64) / response.norm[j]
            central = mine[0] * (v - mine[1]) - other * (v + response.chi[j] - own(j, g))
            f = (2.0 * central * slope) * d
            if ti.static(kind.field):
                f += (response.scale * value * (mine[0] - other)) * field_of(response)
            add(sums, f, d, 0.0, want)

    add_overlaps = visit_of(add_overlap)

    @ti.func
    def add_softness(sums: ti.template(), i, lane, does, want: ti.template(), g: ti.template()):
        """The energy of the softness and its forces, at fixed u."""
        here, a, u, count = g.atoms.pos[i], g.atoms.kind[i], g.v.x[i][0], 0
        if does:
            count = g.soft.count[i]
        for step in range((count - lane + many - 1) // many):
            entry = g.soft.entries[slot(i, lane + many * step, g.atoms.n, g.soft.width, layout)]
            j = entry >> g.shift_bits
            d = vector_of(entry, here, g)
            r, du = ti.sqrt(d.dot(d)), u - g.v.x[j][0]
            x, slope = softness(r, g.soft.radii[a * n_kinds + g.atoms.kind[j]], g.soft.amplitude)
            factor = -0.5 * g.constants.polarisation * (du * du)
            add(sums, (factor * slope / r) * d, d, factor * x, want)

    @ti.func
    def sums_of(i, lane, does, want: ti.template(), g: ti.template(), response: ti.template()):
        """What the entries of atom i add, in the first of the threads that share its row."""
        terms = ti.static(3 if want == FORCE else NUMBERS)
        sums = empty_sums(terms)
        if ti.static(kind.overlaps and kind.consistent):
            w = g.constants.polarisation * ti.cast(g.charge[i], ti.f64) / response.norm[i]
            mine = ti.Vector([w, response.chi[i] - own(i, g)])
            add_overlaps(sums, i, lane, does, mine, want, g, response)
        if ti.static(kind.soft):
            add_softness(sums, i, lane, does, want, g)
        return across(sums, terms, many)

    @ti.func
    def of_atom(
        i, total, want: ti.template(), g: ti.template(), response: ti.template(), results: ti.template()
    ):
        q = ti.cast(g.charge[i], ti.f64)
        pull = ti.Vector.zero(ti.f64, 3)
        if ti.static(kind.pulls):
            pull = (response.field_ev * q) * field_of(response)
        results.force[i] += ti.cast(ti.Vector([total[0], total[1], total[2]]) + pull, real)
        if ti.static(want == ALL):
            here, energy = ti.cast(g.atoms.pos[i], ti.f64), 0.0
            if ti.static(kind.pulls):
                energy -= pull.dot(here)
            response.energy[i] = ti.cast(energy, real)
            polarisation = 0.0
            if ti.static(kind.overlaps and kind.consistent):
                polarisation = q * (response.chi[i] - g.elements[2 * g.atoms.kind[i]])
            if ti.static(kind.soft):
                polarisation = g.v.x[i][0] * (q - g.soft.reference[i])
            results.polarisation[i] += ti.cast(g.constants.polarisation * polarisation, real)
            results.coulomb[i] += ti.cast(total[4], real)
            w = ti.Matrix(
                [[total[5 + 3 * x + y] + here[x] * pull[y] for y in ti.static(range(3))]
                 for x in ti.static(range(3))]
            )  # fmt: skip
            store_matrix(results.virial, i, load_matrix(results.virial, i) + ti.cast(w, real))

    @computed_in(ti.f64)
    def of_atoms(want: ti.template(), g: ti.template(), response: ti.template(), results: ti.template()):
        for thread in range(whole_warps(g.atoms.n * many)):
            i = ti.min(thread // many, g.atoms.n - 1)
            does = thread < g.atoms.n * many and status(i, g) == SOLVED
            total = sums_of(i, thread % many, does, want, g, response)
            if does and thread % many == 0:
                of_atom(i, total, want, g, response, results)

    @ti.func
    def polarisation_of(i, g: ti.template(), response: ti.template()):
        """Share of atom i in P, e angstrom, in eV of energy for each V."""
        here, q = g.atoms.pos[i], ti.cast(g.charge[i], ti.f64)
        found = response.field_ev * q * ti.cast(here, ti.f64)
        if ti.static(not kind.pulls):
            sums = empty_sums(3)
            for s in range(ti.min(g.near.count[i], g.near.width)):
                entry = g.near.entries[slot(i, s, g.atoms.n, g.near.width, layout)]
                d = vector_of(entry, here, g)
                value, _ = overlap(i, entry >> g.shift_bits, d.dot(d), g, response)
                for x in ti.static(range(3)):
                    with_term(sums, 3, x, value * d[x])
            total = ti.Vector([total_of(sums[x], sums[3 + x]) for x in ti.static(range(3))])
            found = -(g.constants.polarisation * q * response.scale / response.norm[i]) * total
        return found

    @computed_in(ti.f64)
    def add_work(g: ti.template(), response: ti.template(), work: ti.template(), go: ti.template(), adds):
        for i in range(g.atoms.n):
            if go[GO] == 1 and status(i, g) == SOLVED:
                p = polarisation_of(i, g, response)
                if adds == 1:
                    before = ti.Vector([work.x[i], work.y[i], work.z[i]])
                    change = field_of(response) - field_of(work)
                    work.done[i] -= ti.cast(0.5 * (p + ti.cast(before, ti.f64)).dot(change), real)
                now = ti.cast(p, real)
                work.x[i], work.y[i], work.z[i] = now[0], now[1], now[2]
        for a in range(3):
            if go[GO] == 1:
                work.field[a] = response.field[a]

    atoms = Atoms.only("n", "pos", "kind")
    rows = {"near": ROWS} if kind.overlaps else {}
    images = ("shifts", "shift_bits") if kind.overlaps or kind.soft else ()
    numbers = ("field", "scale", "field_ev") if kind.field else ()
    gauss = ("norm", "gauss", "reach2") if kind.overlaps else ()
    around = Around.only(*(images if rows else ()), "elements", atoms=atoms, **rows)
    left = Around.only(
        *images, "elements", "charge", "constants", atoms=atoms, progress=Progress.only("flags"), **rows,
        batched=Batched.only("system") if batch else None,
        **({"soft": Soft, "v": Vectors.only("x")} if kind.soft else {}),
    )  # fmt: skip
    response_of = Response.only("chi", *numbers, *gauss)

    @kernel(types, g=around, response=response_of, control=CONTROL, frozen=Number("i32", "word of control"))
    def before(g, response, control, frozen):
        """Electronegativities, before a solve."""
        electronegativities(g, response, control, frozen)

    @kernel(types, g=left, response=response_of, results=Results.only("force"))
    def forces(g, response, results):
        """Add the forces of the model, if charges are known."""
        of_atoms(FORCE, g, response, results)

    @kernel(
        types, g=left, response=Response.only("chi", "energy", *numbers, *gauss),
        results=Results.only("force", "virial", "coulomb", "polarisation"),
    )  # fmt: skip
    def everything(g, response, results):
        """Add forces, energies and virials of the model, if charges are known."""
        of_atoms(ALL, g, response, results)

    @kernel(
        types, g=left, response=Response.only("chi", *numbers, *gauss), work=Work, go=STATUS,
        adds=Number("i32", "1: the work since the last evaluation; 0: begin here")
    )  # fmt: skip
    def book(g, response, work, go, adds):
        """Book the work of a field that depends on time, if charges are known."""
        add_work(g, response, work, go, adds)

    return ResponseKernels(before, forces, everything, book)
