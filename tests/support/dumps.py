"""LAMMPS dumps from words: what `dump custom` would have written of these positions."""

import numpy as np


def random_walk(frames=400, atoms=20, diffusion=0.5, dt=0.1, seed=1, cell=(9.0, 10.0, 11.0)):
    """(frames, atoms, 3) Å of an exact random walk with `diffusion` Å²/ps, never folded; dt in ps."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(frames, atoms, 3)) * np.sqrt(2 * diffusion * dt)
    return np.cumsum(steps, axis=0) + rng.uniform(0, 1, (atoms, 3)) * cell


def folded(positions, cell):
    """Fractions of the cell in [0, 1), and image flags."""
    fractions = positions @ np.linalg.inv(cell)
    images = np.floor(fractions).astype(int)
    return fractions - images, images


def dump_text(
    positions, cell, steps, columns="id element x y z", header="", velocities=None, types=None,
    elements=None, times=None, shuffle=None, boundary="pp pp pp", origin=(0.0, 0.0, 0.0),
):  # fmt: skip
    """Text of a dump.

    Args:
        positions: (frames, n, 3) never folded. cell: (3, 3) lower triangular rows, or (frames, 3, 3).
        steps: (frames,).
        columns: names as in the item ATOMS.
        header: before the first frame, such as "ITEM: UNITS\\nreal\\n".
        velocities: (frames, n, 3). types: (n,). elements: (n,). times: (frames,) for the item TIME.
        shuffle: a generator that orders the atoms of each frame again.
        boundary, origin: of the box.
    """
    n = positions.shape[1]
    types = np.ones(n, int) if types is None else types
    elements = ["Ar"] * n if elements is None else elements
    parts = [header]
    for k, step in enumerate(steps):
        box = np.array(cell[k] if np.ndim(cell) == 3 else cell, float)
        fractions, images = folded(positions[k], box)
        wrapped = fractions @ box
        values = {"id": np.arange(1, n + 1), "type": types, "element": elements}
        for a, axis in enumerate("xyz"):
            values |= {
                axis: wrapped[:, a] + origin[a],
                f"{axis}s": fractions[:, a],
                f"{axis}u": positions[k][:, a] + origin[a],
                f"{axis}su": fractions[:, a] + images[:, a],
                f"i{axis}": images[:, a],
            }
            if velocities is not None:
                values[f"v{axis}"] = velocities[k][:, a]
        order = np.arange(n) if shuffle is None else shuffle.permutation(n)
        rows = [" ".join(str(values[name][a]) for name in columns.split()) for a in order]
        time = "" if times is None else f"ITEM: TIME\n{float(times[k])!r}\n"
        parts.append(
            f"{time}ITEM: TIMESTEP\n{step}\nITEM: NUMBER OF ATOMS\n{n}\n{_bounds(box, boundary, origin)}"
            f"ITEM: ATOMS {columns}\n" + "\n".join(rows) + "\n"
        )
    return "".join(parts)


def _bounds(box, boundary, origin):
    low, high = np.array(origin, float), np.array(origin, float) + np.diag(box)
    xy, xz, yz = box[1, 0], box[2, 0], box[2, 1]
    if not (xy or xz or yz):
        lines = [f"{a!r} {b!r}" for a, b in zip(low.tolist(), high.tolist(), strict=True)]
        return f"ITEM: BOX BOUNDS {boundary}\n" + "\n".join(lines) + "\n"
    low += [min(0.0, xy, xz, xy + xz), min(0.0, yz), 0.0]
    high += [max(0.0, xy, xz, xy + xz), max(0.0, yz), 0.0]
    tilts = [float(t) for t in (xy, xz, yz)]
    lines = [f"{a!r} {b!r} {t!r}" for a, b, t in zip(low.tolist(), high.tolist(), tilts, strict=True)]
    return f"ITEM: BOX BOUNDS xy xz yz {boundary}\n" + "\n".join(lines) + "\n"
