"""Files of potfit of no paper, for any elements."""

import numpy as np

UNEVEN = np.array([0.0, 0.04, 0.1, 0.22, 0.3, 0.45, 0.6, 0.72, 0.9, 1.0])
"""Points of format 4, as shares of a range; not symmetric."""


def functions(elements, kind, fmt, gradients):
    """Points, values and gradients of functions in the order of a file.

    Values of exponentials have ten digits, so that they are the same on every machine.
    """
    rng = np.random.default_rng(7)
    found = []
    pairs = [(a, b) for k, a in enumerate(elements) for b in elements[k:]]
    shape = UNEVEN if fmt == 4 else np.linspace(0.0, 1.0, 11)
    for k, _ in enumerate(pairs):
        x = 1.6 + 0.02 * k + (3.4 - 0.1 * k) * shape
        y = (
            2.0 * np.exp(-1.6 * (x - 1.6))
            - 0.15 * np.exp(-((x - 2.9 - 0.1 * k) ** 2))
            + 0.01 * rng.random(len(x))
        )
        found.append([x, np.append(np.round(y[:-1], 10), 0.0), (-3.1 - 0.2 * k, 0.0) if gradients else None])
    for k, _ in enumerate(elements * (kind == "EAM")):
        x = 1.5 + (3.6 - 0.1 * k) * shape
        y = np.round((0.3 + 0.1 * k) * np.exp(-1.1 * (x - 1.6)) + 0.01 * rng.random(len(x)), 10)
        found.append([x, np.append(y[:-1], 0.0), (1e30, 0.0) if gradients else None])
    for k, _ in enumerate(elements * (kind == "EAM")):
        x = 0.1 * k + 6.0 * shape
        found.append([x, -1.1 * np.sqrt(x + 0.3 + 0.1 * k), (-1.3, 1e30) if gradients else None])
    return found


def text_of(elements, kind, fmt, made):
    gradients = made[0][2] is not None
    lines = [f"#F {fmt} {len(made)}", f"#T {kind}", f"#C {' '.join(elements)}", "## a comment"]
    lines += ["#G" + " 3" * len(made)] * gradients + ["#I" + " 0" * len(made), "#E"]
    lines += [f"{x[0]:.15g} {x[-1]:.15g} {len(x)}" if fmt == 3 else str(len(x)) for x, _, _ in made]
    for x, y, ends in made:
        lines += ["", *([f"{ends[0]:g} {ends[1]:g}"] if gradients else [])]
        lines += [f"{v:.17g}" if fmt == 3 else f"{u:.15g} {v:.17g}" for u, v in zip(x, y, strict=True)]
    return "\n".join(lines) + "\n"


def potfit_file(folder, kind, elements=("Cu", "Ni"), fmt=4):
    """The path of a file with gradients: "PAIR" or "EAM"."""
    path = folder / "x.pot"
    path.write_text(text_of(elements, kind, fmt, functions(elements, kind, fmt, True)))
    return path
