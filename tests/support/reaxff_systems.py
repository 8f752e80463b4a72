"""Small systems for tests of ReaxFF's charges and nonbonded terms, with near lists and references."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from row_places import places_of

from taichimd.core.runtime import start, ti
from taichimd.enumerate.reproducible_sum import ALL
from taichimd.forcefields.reaxff.charge_arrays import ChargeParameters
from taichimd.forcefields.reaxff.charges import Charges
from taichimd.forcefields.reaxff.nonbonded import Nonbonded, Results
from taichimd.forcefields.reaxff.options import COUPLING, Constants
from taichimd.forcefields.reaxff.pairs import Form, pair_table
from taichimd.neighbours.rows import NearRows, row_layout, row_width
from taichimd.system.state import State

LOWER, CUTOFF = 0.0, 6.0
CHI, ETA = np.array([8.5, 3.7]), np.array([17.9, 19.2])
GAMMA = np.array([[1.05, 0.87], [0.87, 0.71]])
CONSTANT, FACTOR, EXPONENT = 14.39, 0.998, 1.5591
PAIRS = {
    "D": np.array([[0.10, 0.05], [0.05, 0.02]]),
    "alpha": np.array([[10.2, 9.7], [9.7, 9.4]]),
    "r_vdW": np.array([[3.9, 3.1], [3.1, 2.7]]),
    "gamma_w": np.array([[13.8, 6.0], [6.0, 5.0]]),
    "gamma3": GAMMA**-3.0,
    "r_core": np.array([[1.5, 1.4], [1.4, 1.3]]),
    "e_core": np.array([[0.020, 0.015], [0.015, 0.010]]),
    "a_core": np.array([[11.0, 10.0], [10.0, 9.0]]),
    "C_lg": np.array([[20.0, 15.0], [15.0, 10.0]]),
    "R_lg6": np.array([[200.0, 150.0], [150.0, 90.0]]),
}
PLAIN, SHIELDED, WALLED = Form(False, False, False), Form(True, False, False), Form(True, True, False)
WHOLE = Form(True, True, True)
PARAMETERS = ChargeParameters(CHI, ETA, GAMMA**-3.0, LOWER, CUTOFF)


@dataclass
class Box:
    """Atoms of two kinds in a cell (rows)."""

    kinds: np.ndarray
    positions: np.ndarray
    cell: np.ndarray


def box(n=14, edge=5.5, seed=3, apart=0.9):
    """Random atoms in a skewed cell thinner than the cutoff, none closer than `apart` to another."""
    rng = np.random.default_rng(seed)
    cell = np.array([[edge, 0, 0], [0.8, edge, 0], [-0.5, 0.6, edge]])
    positions = np.zeros((0, 3))
    while len(positions) < n:
        x = rng.random(3) @ cell
        d, _, _ = vectors(np.vstack([positions, x]), cell, apart)
        if not len(d):
            positions = np.vstack([positions, x])
    return Box(rng.integers(0, 2, n).astype(np.int32), positions, cell)


def vectors(positions, cell, radius):
    """All pairs within a radius, both ways: distance vectors, pairs of atoms, images (three integers)."""
    heights = 1 / np.linalg.norm(np.linalg.inv(cell), axis=0)
    span = np.ceil(radius / heights + np.ptp(positions @ np.linalg.inv(cell), axis=0)).astype(int)
    images = np.array(list(product(*(range(-m, m + 1) for m in span))))
    d = positions[None, :, None] - positions[:, None, None] + images @ cell
    r = np.linalg.norm(d, axis=-1)
    n = len(positions)
    itself = np.eye(n, dtype=bool)[:, :, None] & (images == 0).all(1)[None, None]
    i, j, k = np.nonzero((r < radius) & ~itself)
    return d[i, j, k], (i, j), images[k]


def on_device(system, skin=0.0, memory=None, backend=None):
    """State, near list in the layout of the backend, image vectors and bits; `memory`: place of each atom."""
    backend = backend or start("cpu")
    n = len(system.kinds)
    place = np.arange(n) if memory is None else np.asarray(memory)
    ident = np.argsort(place)
    state = State(system.kinds[ident], np.ones(n), "float64")
    state.pos.from_numpy(np.ascontiguousarray(system.positions[ident]))
    state.ident.from_numpy(ident.astype(np.int32))
    state.sorted_of.from_numpy(place.astype(np.int32))
    _, (i, j), images = vectors(system.positions, system.cell, CUTOFF + skin)
    # Codes as those of lists: in the order of the images, 0 for none.
    fields = np.where(images < 0, images + 32, images) @ [1024, 32, 1]
    names, codes = np.unique(np.append(fields, 0), return_inverse=True)
    codes, bits = codes[:-1], max(int(len(names) - 1).bit_length(), 1)
    shifts = np.zeros((2**bits, 3))
    shifts[codes] = images @ system.cell
    order = np.lexsort((codes, j, place[i]))
    i, j, codes = place[i[order]], place[j[order]], codes[order]
    count = np.bincount(i, minlength=n)
    width, layout = row_width(max(int(count.max(initial=0)), 1)), row_layout(backend)
    slots = np.arange(len(i)) - np.repeat(np.cumsum(count) - count, count)
    entries = np.zeros(n * width, np.int32)
    entries[places_of(n, width, layout)[i, slots]] = (j << bits) | codes
    near = NearRows(width=width, count=_ints(count), entries=_ints(entries))
    vecs = ti.ndarray(state.vec, 2**bits)
    vecs.from_numpy(shifts)
    return state, near, vecs, bits


def _ints(values):
    array = ti.ndarray(ti.i32, len(values))
    array.from_numpy(np.asarray(values, np.int32))
    return array


class Bench:
    """A system on the device with its charges."""

    def __init__(self, system, skin=0.0, memory=None, parameters=PARAMETERS, stored="f64", **options):
        options["stored"] = getattr(ti, stored)
        self.system, self._lists = system, (skin, memory)
        self.state, self.near, self.shifts, self.bits = on_device(system, skin, memory)
        self.charges = Charges(self.state, parameters, system.kinds, "cpu", row_layout("cpu"), **options)
        self.control = _ints([0])

    def move(self, size):
        """Move all atoms by numbers up to `size`, the same each time, and make the list again."""
        rng = np.random.default_rng(7)
        self.system.positions = self.system.positions + size * rng.uniform(-1, 1, (self.state.n, 3))
        made, self.near, self.shifts, self.bits = on_device(self.system, *self._lists)
        self.state.pos.copy_from(made.pos)

    def charges_of(self, stepping=False):
        """Charges in the user's order, of a step or an evaluation beside it."""
        self.charges.queue(self.near, self.shifts, self.bits, self.control, 0, stepping)
        self.charges.settle()
        return self.charges.charges()

    def solutions(self):
        """(n, 2): s and t of the last solve, in the user's order."""
        order, past = self.state.sorted_of.to_numpy(), self.charges.past
        return np.stack([past.s0.to_numpy()[order], past.t0.to_numpy()[order]], axis=1)


@dataclass
class Evaluation:
    """In the user's order: numbers of each atom, eV and angstrom."""

    forces: np.ndarray
    virials: np.ndarray
    van_der_waals: np.ndarray
    coulomb: np.ndarray
    polarisation: np.ndarray

    @property
    def energy(self):
        return sum(a.sum() for a in (self.van_der_waals, self.coulomb, self.polarisation))


class NonbondedBench(Bench):
    """The same with nonbonded terms."""

    def __init__(self, system, form=WHOLE, intervals=None, **options):
        super().__init__(system, **options)
        table = pair_table(PAIRS, form, EXPONENT)
        self.nonbonded = Nonbonded(
            self.state,
            self.charges,
            table,
            form,
            EXPONENT,
            "cpu",
            Constants(CONSTANT, FACTOR),
            intervals=intervals,
        )

    def evaluate(self, want=ALL):
        """With the charges of the last solve, at the positions of that solve."""
        self.nonbonded.queue(self.shifts, want)
        order, found = self.state.sorted_of.to_numpy(), self.nonbonded.results
        arrays = [getattr(found, name).to_numpy().reshape(self.state.n, -1)[order] for name in Results.fields]
        return Evaluation(arrays[0], arrays[1].reshape(-1, 3, 3), *(a[:, 0] for a in arrays[2:]))


def taper(r):
    """Tap(r) from its definition."""
    u = (r - LOWER) / (CUTOFF - LOWER)
    return 20 * u**7 - 70 * u**6 + 84 * u**5 - 35 * u**4 + 1


def matrix(system, parameters=PARAMETERS):
    """H of the equilibration, (n, n)."""
    d, (i, j), _ = vectors(system.positions, system.cell, CUTOFF)
    r = np.linalg.norm(d, axis=1)
    g = parameters.inverse_gamma3[system.kinds[i], system.kinds[j]]
    h = np.diag(parameters.eta[system.kinds])
    np.add.at(h, (i, j), COUPLING * taper(r) * (r**3 + g) ** (-1 / 3))
    return h


def dense_charges(system, net=0.0, parameters=PARAMETERS):
    """Charges from a dense solve."""
    b = -np.stack([parameters.chi[system.kinds], np.ones(len(system.kinds))], axis=1)
    s, t = np.linalg.solve(matrix(system, parameters), b).T
    return s - (s.sum() - net) / t.sum() * t


def pair_energies(r, a, b, form):
    """Van der Waals energy of pairs of kinds a and b, from its definition."""
    p = {name: values[a, b] for name, values in PAIRS.items()}
    rho = (r**EXPONENT + p["gamma_w"] ** -EXPONENT) ** (1 / EXPONENT) if form.shielded else r
    x = p["alpha"] * (1 - rho / p["r_vdW"])
    u = p["D"] * (np.exp(x) - 2 * np.exp(0.5 * x))
    if form.wall:
        u += p["e_core"] * np.exp(p["a_core"] * (1 - r / p["r_core"]))
    if form.dispersion:
        u -= p["C_lg"] / (r**6 + p["R_lg6"])
    return taper(r) * u


def energies(system, q, form):
    """Van der Waals, Coulomb and polarisation energy at charges q."""
    d, (i, j), _ = vectors(system.positions, system.cell, CUTOFF)
    r, a, b = np.linalg.norm(d, axis=1), system.kinds[i], system.kinds[j]
    k = taper(r) * (r**3 + GAMMA[a, b] ** -3) ** (-1 / 3)
    chi, eta = CHI[system.kinds], ETA[system.kinds]
    return (
        0.5 * pair_energies(r, a, b, form).sum(),
        0.5 * CONSTANT * (q[i] * q[j] * k).sum(),
        FACTOR * (chi * q + 0.5 * eta * q * q).sum(),
    )
