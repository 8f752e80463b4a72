"""Networks of bonds for tests of tuples, enumeration by brute force, functions of chains."""

from itertools import pairwise

import numpy as np
from ase.neighborlist import neighbor_list
from hypothesis import strategies as st

from taichimd.core.math import exp
from taichimd.core.runtime import ti
from taichimd.tuples.bonds import BondList

CELL = np.array([[5.0, 0.3, 0.1], [-1.2, 4.5, 0.2], [0.7, 0.9, 6.0]])
"""Triclinic, angstrom."""


def rows_of(edges, n):
    """CSR rows (first, partner, image, strength) of undirected bonds {(i, j, image): strength}."""
    both = {}
    for (i, j, image), s in edges.items():
        both[i, j, image] = both[j, i, tuple(-x for x in image)] = s
    order = sorted(both)
    origin = np.array([b[0] for b in order], int)
    return (
        np.searchsorted(origin, np.arange(n + 1)),
        np.array([b[1] for b in order], int),
        np.array([b[2] for b in order], int).reshape(-1, 3),
        np.array([both[b] for b in order], float),
    )


@st.composite
def networks(draw, most_atoms=5, least_bonds=0, own_images=True):
    """Rows of a random periodic network, and positions."""
    n = draw(st.integers(1, most_atoms))
    image = st.tuples(*[st.integers(-1, 1)] * 3)
    edge = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), image)
    found = draw(st.lists(edge, min_size=least_bonds, max_size=12, unique=True))
    edges = {}
    for k, (i, j, t) in enumerate(found):
        if (i != j or (own_images and any(t))) and (j, i, tuple(-x for x in t)) not in edges:
            edges[i, j, t] = draw(st.floats(0.05, 1.0)) if k % 2 else 0.6
    seed = draw(st.integers(0, 2**31))
    return rows_of(edges, n), np.random.default_rng(seed).uniform(0, 4, (n, 3))


def crystal(atoms, cutoff, precision="float64"):
    """Bond list of a structure whose bonds are shorter than a cutoff; strengths fall off with distance."""
    i, j, image, r = neighbor_list("ijSd", atoms, cutoff)
    edges = {
        (a, b, tuple(int(x) for x in t)): strength(d)
        for a, b, t, d in zip(i.tolist(), j.tolist(), image, r, strict=True)
    }
    bonds = BondList(*rows_of(edges, len(atoms)), cell=atoms.cell[:], precision=precision)
    bonds.set_positions(atoms.positions)
    return bonds


def strength(r):
    """A bond order of carbon: smooth in distance, 0.97 at 1.54 angstrom, 0.06 at 2.52."""
    return np.exp(-0.03 * (r / 1.54) ** 9.3)


def paths(rows, order):
    """All simple paths of n atoms with their strengths, by recursion over (atom, image), each once."""
    first, partner, image, s = rows
    found = {}

    def extend(path, along):
        if len(path) == order:
            key = canonical(path)
            found[key] = along if key == translated(path) else along[::-1]
            return
        atom, at = path[-1]
        for b in range(first[atom], first[atom + 1]):
            node = int(partner[b]), tuple(int(x) for x in np.add(at, image[b]))
            if node not in path:
                extend([*path, node], (*along, float(s[b])))

    for atom in range(len(first) - 1):
        extend([(atom, (0, 0, 0))], ())
    return found


def translated(path):
    """The path with its first atom in the cell."""
    return tuple((atom, tuple(int(x) for x in np.subtract(at, path[0][1]))) for atom, at in path)


def canonical(path):
    """One name for a path, its reverse, and both in any cell."""
    return min(translated(path), translated(path[::-1]))


def listed(tuples, rows):
    """The canonical names of the tuples of a device list, in its order."""
    first, partner, image, _ = rows
    origin = np.repeat(np.arange(len(first) - 1), np.diff(first))

    def end(b, at=(0, 0, 0)):
        return int(partner[b]), tuple(int(x) for x in np.add(at, image[b]))

    names = []
    for bonds in tuples.bonds().tolist():
        centre = int(origin[bonds[len(bonds) // 2]]), (0, 0, 0)
        if len(bonds) == 1:
            path = [centre, end(bonds[0])]
        elif len(bonds) == 2:
            path = [end(bonds[0]), centre, end(bonds[1])]
        else:
            path = [end(bonds[0]), centre, end(bonds[1]), end(bonds[2], image[bonds[1]])]
        assert [atom for atom, _ in path] == tuples.atoms()[len(names)].tolist()
        names.append(canonical(path))
    return names


@ti.func
def everything(r, c, s, kinds, table: ti.template()):
    """A function of chains that depends on each of its arguments."""
    v = table[kinds[1]] * table[kinds[2]] + table[kinds[0]] + table[kinds[3]]
    x = s[0] * s[2] * s[1] * s[1]
    y = 0.2 * r[1] + 0.05 * r[0] * r[2]
    a = 1.0 + 0.5 * c[0] * c[1]
    w = 2.0 + c[2] + c[2] * c[2]
    u_r = ti.Vector([0.05 * r[2], 0.2, 0.05 * r[0]])
    u_c = ti.Vector([0.5 * c[1] * w, 0.5 * c[0] * w, a * (1.0 + 2.0 * c[2])])
    u_s = ti.Vector([s[2] * s[1] * s[1], 2.0 * s[0] * s[2] * s[1], s[0] * s[1] * s[1]])
    return v * x * y * a * w, (v * x * a * w) * u_r, (v * x * y) * u_c, (v * y * a * w) * u_s


TABLE = (0.7, 1.3)
"""Parameters of `everything` for two species."""


def everything_of(path, strengths, positions, kinds, cell=CELL):
    """The same in NumPy, with the dihedral from its normals."""
    x = [positions[atom] + np.array(at) @ cell for atom, at in path]
    ij, jk, kl = (b - a for a, b in pairwise(x))
    r = [np.linalg.norm(d) for d in (ij, jk, kl)]
    cos_j = -ij @ jk / (r[0] * r[1])
    cos_k = -jk @ kl / (r[1] * r[2])
    n, m = np.cross(ij, jk), np.cross(jk, kl)
    w = n @ m / (np.linalg.norm(n) * np.linalg.norm(m))
    t = [TABLE[kinds[atom]] for atom, _ in path]
    energy = (t[1] * t[2] + t[0] + t[3]) * strengths[0] * strengths[2] * strengths[1] ** 2
    return energy * (0.2 * r[1] + 0.05 * r[0] * r[2]) * (1 + 0.5 * cos_j * cos_k) * (2 + w + w * w)


@ti.func
def torsion(r, c, s, kinds, table: ti.template()):
    """A torsion of the form that ReaxFF has: table holds V1, V2, V3 (eV) and two exponents.

    A. C. T. van Duin et al., J. Phys. Chem. A 105, 9396 (2001), eq. 10, without the correction by
    overcoordination and with one bond order for sigma and pi bonds.
    """
    v1, v2, v3, steep, fall = table[0], table[1], table[2], table[3], table[4]
    g = ti.Vector([exp(-fall * s[0]), exp(-fall * s[1]), exp(-fall * s[2])])
    f = 1.0 - g
    sin_j = ti.sqrt(ti.max(1.0 - c[0] * c[0], 1e-10))
    sin_k = ti.sqrt(ti.max(1.0 - c[1] * c[1], 1e-10))
    pull = v2 * exp(-steep * (s[1] - 1.0) * (s[1] - 1.0))
    w = c[2]
    # cos 2w = 2 cos^2 w - 1, cos 3w = 4 cos^3 w - 3 cos w
    twist = 0.5 * v1 * (1.0 + w) + pull * (1.0 - w * w) + 0.5 * v3 * (1.0 + w * (4.0 * w * w - 3.0))
    d_twist = 0.5 * v1 - 2.0 * pull * w + 0.5 * v3 * (12.0 * w * w - 3.0)
    weight, sines = f[0] * f[1] * f[2], sin_j * sin_k
    u = weight * sines * twist
    u_c = ti.Vector([-c[0] * sin_k / sin_j * twist, -c[1] * sin_j / sin_k * twist, sines * d_twist])
    u_s = ti.Vector([g[0] * f[1] * f[2], f[0] * g[1] * f[2], f[0] * f[1] * g[2]]) * (fall * sines * twist)
    u_s[1] += weight * sines * (-2.0 * steep) * (s[1] - 1.0) * pull * (1.0 - w * w)
    return u, ti.Vector([0.0, 0.0, 0.0]), weight * u_c, u_s


TORSION = (0.02, 0.9, 0.03, 2.5, 7.0)
"""V1, V2, V3 (eV), two exponents: of the size that hydrocarbons have; no published set."""
