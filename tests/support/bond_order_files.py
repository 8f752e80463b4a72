"""Files of Tersoff/mod, mod/c, ZBL and sw/mod of no paper: numbers near those of silicon and carbon."""

import numpy as np

MOD = [1, 2.3, -0.36, 0.8, 1, 1.35, 120.0, 2.9, 0.3, 2.6, 2100.0, 0.6, 0.2, 7.3e5, 1e6, 1.0, 26.0]
PLAIN = [3, 0.9, 1.2, 4.8, 2.0, -0.1, 22.9, 0.33, 1.33, 95.0, 2.9, 0.25, 3.26, 3264.0]
ZBL = [*PLAIN, 14, 6, 0.95, 14.0]
STYLES = {
    "tersoff/mod": ("x.tersoff.mod", MOD, (0, 4), (10, 9, 7, 8)),
    "tersoff/mod/c": ("x.tersoff.modc", [3, *MOD[1:], -0.02], (0, 4), (10, 9, 7, 8, 17)),
    "tersoff/zbl": ("x.tersoff.zbl", ZBL, (0, 14, 15), (13, 12, 10, 11, 16, 17)),
}
"""File name, numbers of an entry, those that are not perturbed, those that (i, j, j) and (j, i, i) share."""


def tersoff_file(style, folder, elements=("Si", "C")):
    """A file with a perturbed entry for each triple, so that no column can be taken from a wrong entry."""
    name, numbers, fixed, shared = STYLES[style]
    rng = np.random.default_rng(4)
    lines, rows = [], {}
    for i in elements:
        for j in elements:
            for k in elements:
                row = np.array(numbers) * rng.uniform(0.96, 1.04, len(numbers))
                row[list(fixed)] = np.array(numbers)[list(fixed)]
                if j == k and (j, i, i) in rows:
                    row[list(shared)] = rows[j, i, i][list(shared)]
                rows[i, j, k] = row
                lines.append(f"{i} {j} {k} " + " ".join(f"{x:.12g}" for x in row))
    path = folder / name
    path.write_text("# UNITS: metal\n" + "\n".join(lines) + "\n")
    return path


SW_MOD = {
    "Si Si Si": "2.0 2.1 1.8 20.0 1.2 0.1 7.0 0.6 4 0 0", "C C C": "1.8 1.9 1.9 15.0 1.1 0.2 6.0 0.7 4 0 0",
    "Si C C": "1.9 2.0 1.85 18.0 1.15 0.15 6.5 0.65 4 0 0", "C Si Si": "1.9 2.0 1.85 16.0 1.15 0.1 6.5 0.65 "
    "4 0 0",
    "Si Si C": "1.7 0 0 14.0 0 0.12 0 0 0 0 0", "Si C Si": "1.7 0 0 14.0 0 0.12 0 0 0 0 0",
    "C C Si": "1.6 0 0 13.0 0 0.08 0 0 0 0 0", "C Si C": "1.6 0 0 13.0 0 0.08 0 0 0 0 0",
}  # fmt: skip


def sw_mod_file(folder):
    """The path of a file for silicon and carbon."""
    path = folder / "x.sw.mod"
    path.write_text("".join(f"{key} {row}\n" for key, row in SW_MOD.items()))
    return path
