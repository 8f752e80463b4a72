"""Axilrod-Teller in NumPy: brute force over triangles with images, and the trace form for hundreds of atoms.

Both return the energy (eV), and of the atoms energies (n), forces (n, 3), virials (n, 3, 3) or None.
"""

import numpy as np


def images(atoms, cutoff):
    """Lattice vectors of all cells that may hold something within the cutoff."""
    heights = 1.0 / np.linalg.norm(np.linalg.inv(atoms.cell[:] + np.diag(~atoms.pbc)), axis=0)
    spread = np.ptp(atoms.positions @ np.linalg.inv(atoms.cell[:] + np.diag(~atoms.pbc)), axis=0)
    reach = np.where(atoms.pbc, np.ceil(cutoff / heights + spread), 0).astype(int)
    turns = np.array(list(np.ndindex(*(2 * reach + 1)))) - reach
    return turns @ atoms.cell[:]


def brute_force(atoms, nu, cutoff=np.inf, product_cutoff=np.inf):
    """Each atom visits the closed triangles that it is in.

    Args:
        nu: function of three symbols, eV angstrom^9.
    """
    n, symbols = len(atoms), atoms.get_chemical_symbols()
    shifts = images(atoms, cutoff) if atoms.pbc.any() else np.zeros((1, 3))
    points = (atoms.positions[None] + shifts[:, None]).reshape(-1, 3)
    owner = np.tile(np.arange(n), len(shifts))
    energies, forces, virials = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3, 3))
    for i in range(n):
        d = points - atoms.positions[i]
        r = np.linalg.norm(d, axis=1)
        near = np.flatnonzero((r > 0) & (r < cutoff))
        s, t = np.triu_indices(len(near), 1)
        j, k = near[s], near[t]
        opposite = d[k] - d[j]
        o = np.linalg.norm(opposite, axis=1)
        kept = (o < cutoff) & (r[j] * r[k] * o < product_cutoff**3)
        j, k, o, opposite = j[kept], k[kept], o[kept], opposite[kept]
        strength = np.array(
            [nu(symbols[i], symbols[owner[b]], symbols[owner[c]]) for b, c in zip(j, k, strict=True)]
        )
        ej, ek, ejk = d[j] / r[j, None], d[k] / r[k, None], opposite / o[:, None]
        ci, cj, ck = (ej * ek).sum(1), -(ej * ejk).sum(1), (ek * ejk).sum(1)
        product = strength / (r[j] * r[k] * o) ** 3
        u = product * (1 + 3 * ci * cj * ck)
        # The gradient to r_i, by the rule of the product, from cosines that are dot products of unit vectors.
        dci = -((ek - ci[:, None] * ej) / r[j, None] + (ej - ci[:, None] * ek) / r[k, None])
        dcj = (ejk + cj[:, None] * ej) / r[j, None]
        dck = -(ejk - ck[:, None] * ek) / r[k, None]
        slope = (
            3
            * product[:, None]
            * (dci * (cj * ck)[:, None] + dcj * (ci * ck)[:, None] + dck * (ci * cj)[:, None])
        )
        slope += 3 * u[:, None] * (ej / r[j, None] + ek / r[k, None])
        energies[i], forces[i] = u.sum() / 3, -slope.sum(axis=0)
        virials[i] = np.einsum("ta,tb->ab", -(d[j] + d[k]) / 3, -slope)
    return energies.sum(), energies, forces, virials


def trace_form(positions, nu):
    """E = -(nu/18) Tr T^3 with T_ij = (3 r^ r^T - 1)/r^3 of all pairs, and dE/dT = -(nu/6) T^2; no virials.

    A matrix of 3n rows: for hundreds of atoms without images and cutoff.
    """
    n = len(positions)
    d = positions[:, None] - positions[None]
    r2 = (d**2).sum(axis=-1)
    np.fill_diagonal(r2, 1.0)
    apart = 1.0 - np.eye(n)
    blocks = (3 * d[..., :, None] * d[..., None, :] / r2[..., None, None] - np.eye(3)) * (apart * r2**-1.5)[
        ..., None, None
    ]
    t = blocks.transpose(0, 2, 1, 3).reshape(3 * n, 3 * n)
    squared = t @ t
    energies = -nu / 18 * (squared * t).sum(axis=1).reshape(n, 3).sum(axis=1)
    g = -nu / 6 * squared.reshape(n, 3, n, 3).transpose(0, 2, 1, 3)
    # dT_ab/dx_c = 3 (delta_ac x_b + delta_bc x_a + delta_ab x_c)/r^5 - 15 x_a x_b x_c/r^7, of T_ij and T_ji.
    gd = np.einsum("ijab,ijb->ija", g, d) + np.einsum("ijba,ijb->ija", g, d)
    trace = np.einsum("ijaa->ij", g)
    gdd = np.einsum("ijab,ija,ijb->ij", g, d, d)
    slope = (
        3 * (gd + trace[..., None] * d) * (apart * r2**-2.5)[..., None]
        - 15 * (gdd * apart * r2**-3.5)[..., None] * d
    )
    return energies.sum(), energies, -2 * slope.sum(axis=1), None
