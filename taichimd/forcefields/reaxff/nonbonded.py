"""Van der Waals, Coulomb and polarisation: energies, forces and virials at given charges.

For each pair within the cutoff, images and bonded pairs included,

    U = Tap(r) (D (e^x - 2 e^(x/2)) + wall + dispersion) + coulomb q_i q_j K(r),   x = alpha (1 - rho/r_vdW),
    rho = (r^p + gamma_w^-p)^(1/p), or r without shielding,
    wall = e_core exp(a_core (1 - r/r_core)),   dispersion = -C/(r^6 + R^6),

K. Chenoweth, A. C. T. van Duin, W. A. Goddard, J. Phys. Chem. A 112, 1040 (2008), supporting information; dispersion: L. Liu,
Y. Liu, S. V. Zybin, H. Sun, W. A. Goddard, J. Phys. Chem. A 115, 11016 (2011). Each atom has polarisation (chi q + eta q^2/2).
Forces are the derivative at fixed charges. Sums over a row have the order of `lanes`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.arguments import Array, Bundle, Number, kernel, types_of
from taichimd.core.errors import SettingsError
from taichimd.core.math import exp, log
from taichimd.core.runtime import blocks_for, computed_in, grid, literals, ti
from taichimd.enumerate.access import store_matrix, straight_vector
from taichimd.enumerate.parameters import reader
from taichimd.enumerate.reproducible_sum import ALL, FORCE
from taichimd.forcefields.reaxff.charges import Charges
from taichimd.forcefields.reaxff.lanes import LANES, across, threads_of_row, types_with_pairs, whole_chunks
from taichimd.forcefields.reaxff.matrix import Matrix, Screening
from taichimd.forcefields.reaxff.solver import CHARGE, ELEMENTS, SHIFTS, SOLVED, STATUS, Progress
from taichimd.forcefields.reaxff.taper import shielded, taper, taper_slope
from taichimd.neighbours.rows import row_layout, slot, whole_warps
from taichimd.system.state import Atoms, State

Values = NDArray[np.float64]
PAIR = ("depth", "half_alpha", "steepness", "shield", "inverse_gamma3")
WALL = ("wall", "wall_alpha", "wall_steepness")
DISPERSION = ("dispersion", "dispersion_radius6")
"""Columns of the table. half_alpha - steepness rho is x/2; wall energy is wall exp(wall_alpha - wall_steepness r)."""
LEAST_R2 = 1e-20
"""Square of the distance, angstrom^2, that atoms on top of each other count as: there the force is zero, not undefined."""
NUMBERS = 14
"""Of an atom: force 3, energies 2, virial 9."""


@dataclass(frozen=True)
class Form:
    """Which parts the van der Waals energy of a parameter file has.

    Attributes:
        shielded: shielding of distances. wall: inner wall. dispersion: low-gradient dispersion.
    """

    shielded: bool
    wall: bool
    dispersion: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """Of the table of pairs."""
        return PAIR + (WALL if self.wall else ()) + (DISPERSION if self.dispersion else ())


def pair_table(pairs: Mapping[str, Values], form: Form, exponent: float) -> Values:
    """Parameters by kinds, as device functions read them.

    Args:
        pairs: (kinds, kinds) of each: D (eV), alpha, r_vdW (angstrom), gamma_w (1/angstrom), gamma3 (angstrom^3), and r_core
            (angstrom), e_core (eV), a_core with a wall, C_lg (eV angstrom^6), R_lg6 (angstrom^6) with dispersion.
        form: parts that there are.
        exponent: p of the shielding.

    Returns:
        (kinds, kinds, columns of the form).
    """
    d, alpha, radius = pairs["D"], pairs["alpha"], pairs["r_vdW"]
    shield = pairs["gamma_w"] ** -exponent if form.shielded else np.zeros_like(d)
    found = [d, alpha / 2, alpha / (2 * radius), shield, pairs["gamma3"]]
    if form.wall:
        found += [pairs["e_core"], pairs["a_core"], pairs["a_core"] / pairs["r_core"]]
    if form.dispersion:
        found += [pairs["C_lg"], pairs["R_lg6"]]
    return np.stack(found, axis=-1)


class Shapes(Bundle):
    """Numbers and parameters of nonbonded terms."""

    half_exponent: Any = Number("f64", "p/2 of the shielding")
    inverse_exponent: Any = Number("f64", "1/p")
    coulomb: Any = Number("f64", "of the Coulomb energy, eV angstrom/e^2")
    polarisation: Any = Number("f64", "of the polarisation energy, eV of energy for each eV of chi and eta")
    pairs: Any = Array("f64", "kinds^2 columns", "the table of `pair_table`")


class Results(Bundle):
    """What nonbonded terms leave, in spatial order; a pair's energy belongs to its atoms in halves."""

    force: Any = Array("vec", "n", "force on each atom, eV/angstrom")
    virial: Any = Array("real", "9n", "3x3 virial of each atom, eV")
    van_der_waals: Any = Array("real", "n", "energy of each atom, eV")
    coulomb: Any = Array("real", "n", "likewise")
    polarisation: Any = Array("real", "n", "likewise")


def pair_function(form: Form) -> Any:
    """Device function of a pair: energy and slope u'/r of van der Waals, then of the Coulomb interaction K."""

    @ti.func
    def pair(r2, p, shapes: ti.template(), screening: ti.template()):
        r = ti.sqrt(r2)
        inverse = 1.0 / r
        t = taper(r, screening.lower, screening.inverse_width)
        dt = taper_slope(r, screening.lower, screening.inverse_width)
        rho, drho = r, 1.0
        if ti.static(form.shielded):
            power_r = exp(shapes.half_exponent * log(r2))
            base = power_r + p.shield
            rho = exp(shapes.inverse_exponent * log(base))
            drho = rho * power_r / base * inverse
        h = exp(p.half_alpha - p.steepness * rho)
        u = p.depth * h * (h - 2.0)
        du = -2.0 * p.depth * p.steepness * h * (h - 1.0) * drho
        if ti.static(form.wall):
            wall = p.wall * exp(p.wall_alpha - p.wall_steepness * r)
            u += wall
            du -= wall * p.wall_steepness
        if ti.static(form.dispersion):
            base = 1.0 / (r2 * r2 * r2 + p.dispersion_radius6)
            part = p.dispersion * base
            u -= part
            du += 6.0 * part * base * (r2 * r2 * r)
        c = shielded(r2, r, p.inverse_gamma3)
        c2 = c * c
        return t * u, (t * du + dt * u) * inverse, t * c, dt * c * inverse - t * r * (c2 * c2)

    return pair


@cache
def nonbonded_kernels(real: Any, stored: Any, n_kinds: int, backend: str, form: Form) -> Any:
    """Kernels `forces` and `everything`, for one precision, number of kinds and form of the van der Waals energy."""
    types = types_with_pairs(types_of(real), stored)
    layout = row_layout(backend)
    many = threads_of_row(layout)
    pair, read = pair_function(form), reader(form.columns, ti.f64)

    @ti.func
    def lane_sum(i, lane, does, n, want: ti.template(), atoms: ti.template(), shifts: ti.template(), matrix: ti.template(), charge: ti.template(), shapes: ti.template(), screening: ti.template()):  # fmt: skip
        """Force, energies and virial from a lane of the row of atom i."""
        total = ti.Vector.zero(ti.f64, ti.static(3 if want == FORCE else NUMBERS))
        here, a, q = atoms.pos[i], atoms.kind[i], ti.cast(charge[i], ti.f64)
        count, shift_bits = 0, matrix.shift_bits
        if does:
            count = matrix.count[i]
        for c in range(whole_chunks(count)):
            s = c * LANES + lane
            if s < count:
                entry = matrix.entries[slot(i, s, n, matrix.width, layout)]
                j = entry >> shift_bits
                d = ti.cast(straight_vector(entry, shift_bits, here, atoms.pos, shifts), ti.f64)
                p = read(shapes.pairs, a * n_kinds + atoms.kind[j])
                u, w, k, dk = pair(ti.max(d.dot(d), LEAST_R2), p, shapes, screening)
                product = shapes.coulomb * (q * ti.cast(charge[j], ti.f64))
                f = (w + product * dk) * d
                for x in ti.static(range(3)):
                    total[x] += f[x]
                if ti.static(want == ALL):
                    total[3] += 0.5 * u
                    total[4] += 0.5 * product * k
                    for x in ti.static(range(9)):
                        total[5 + x] -= 0.5 * d[x // 3] * f[x % 3]
        return total

    @computed_in(ti.f64)
    def of_atoms(want: ti.template(), atoms: ti.template(), shifts: ti.template(), matrix: ti.template(), charge: ti.template(), shapes: ti.template(), screening: ti.template(), elements: ti.template(), flags: ti.template(), results: ti.template()):  # fmt: skip
        for thread in range(whole_warps(atoms.n * many) if ti.static(many > 1) else atoms.n):
            n = atoms.n
            i = ti.min(thread // many, n - 1)
            does = thread < n * many and flags[STATUS] == SOLVED
            total = ti.Vector.zero(ti.f64, ti.static(3 if want == FORCE else NUMBERS))
            if ti.static(many > 1):
                part = lane_sum(
                    i, thread % many, does, n, want, atoms, shifts, matrix, charge, shapes, screening
                )
                total = across(part, thread, many)
            elif does:
                for lane in range(LANES):
                    total += lane_sum(
                        i, lane, does, n, want, atoms, shifts, matrix, charge, shapes, screening
                    )
            if does and thread % many == 0:
                results.force[i] = ti.cast(ti.Vector([total[0], total[1], total[2]]), real)
                if ti.static(want == ALL):
                    results.van_der_waals[i] = ti.cast(total[3], real)
                    results.coulomb[i] = ti.cast(total[4], real)
                    chi, eta = elements[2 * atoms.kind[i]], elements[2 * atoms.kind[i] + 1]
                    q = ti.cast(charge[i], ti.f64)
                    results.polarisation[i] = ti.cast(shapes.polarisation * (q * (chi + 0.5 * eta * q)), real)
                    w = ti.Matrix(
                        [[total[5 + 3 * x + y] for y in ti.static(range(3))] for x in ti.static(range(3))]
                    )
                    store_matrix(results.virial, i, ti.cast(w, real))

    tables = {
        "atoms": Atoms.only("n", "pos", "kind"), "shifts": SHIFTS, "matrix": Matrix.only("width", "shift_bits", "count", "entries"),
        "charge": CHARGE, "shapes": Shapes, "screening": Screening.only("lower", "inverse_width"),
        "elements": ELEMENTS, "progress": Progress.only("flags"),
    }  # fmt: skip

    @kernel(types, **tables, results=Results.only("force"))
    def forces(atoms, shifts, matrix, charge, shapes, screening, elements, progress, results):
        """Forces alone, if charges are known. Launch: one thread per row, or eight."""
        of_atoms(FORCE, atoms, shifts, matrix, charge, shapes, screening, elements, progress.flags, results)

    @kernel(types, **tables, results=Results)
    def everything(atoms, shifts, matrix, charge, shapes, screening, elements, progress, results):
        """Forces, energies and virials, if charges are known."""
        of_atoms(ALL, atoms, shifts, matrix, charge, shapes, screening, elements, progress.flags, results)

    return SimpleNamespace(forces=forces, everything=everything)


class Nonbonded:
    """Nonbonded terms of one system.

    Args:
        state: the atoms.
        charges: of the same atoms.
        table: of `pair_table`.
        form: parts of the van der Waals energy.
        exponent: p of the shielding.
        backend: "cuda" or "cpu".
        coulomb: constant of the Coulomb energy, eV angstrom/e^2.
        polarisation: factor of the polarisation energy, which chi and eta give in eV.

    Raises:
        SettingsError: an exponent of 0 or less, with shielding.

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
        *,
        coulomb: float,
        polarisation: float = 1.0,
    ) -> None:
        if form.shielded and not exponent > 0.0:
            raise SettingsError(
                f"general parameter 29 (p_vdW1) is {exponent}, expected more than 0; correct the parameter file"
            )
        self._state, self._charges = state, charges
        self._kernels = nonbonded_kernels(state.real, charges.stored, len(table), backend, form)
        self._blocks = blocks_for(8 * state.n)
        pairs = ti.ndarray(ti.f64, table.size)
        pairs.from_numpy(np.ascontiguousarray(table, np.float64).reshape(-1))
        self._shapes = Shapes(
            half_exponent=0.5 * exponent,
            inverse_exponent=1.0 / exponent if form.shielded else 1.0,
            coulomb=float(coulomb),
            polarisation=float(polarisation),
            pairs=pairs,
        )
        lengths = {"n": state.n, "9n": 9 * state.n}
        self.results = Results(
            *(ti.ndarray(state.types[f.type], lengths[f.length]) for f in Results.fields.values())
        )

    def queue(self, shifts: Any, want: int) -> None:
        """Queue an evaluation with the charges and the pairs of the last solve; it does nothing if there are none.

        Args:
            shifts: vectors of images by code.
            want: `reproducible_sum.FORCE`, or ALL for energies and virials as well.
        """
        run = self._kernels.everything if want == ALL else self._kernels.forces
        of = self._charges
        with literals(self._state.real), grid(self._blocks):
            run(
                self._state, shifts, of.matrix, of.charge, self._shapes, of.screening, of.elements, of.progress,
                self.results,
            )  # fmt: skip
