"""Files of bonds and of species as LAMMPS writes them."""

SPECIES = """\
#  Timestep    No_Moles    No_Specs         O2H          H2
  0   3   2   2   1
#  Timestep    No_Moles    No_Specs         HO2
  10   3   1   3
"""


def lammps_text(frames, types, first=0):
    """A file of fix reaxff/bonds, atoms in falling order."""
    lines = []
    for k, bonds in enumerate(frames):
        lines += [f"# Timestep {first + 100 * k}", "#", f"# Number of particles {len(types)}", "#"]
        lines += ["# Max number of bonds per atom 4 with coarse bond order cutoff 0.300"]
        lines += [
            "# Particle connection table and bond orders",
            "# id type nb id_1...id_nb mol bo_1 abo nlp q",
        ]
        for atom in reversed(range(len(types))):
            near = [(a + b - atom, order) for (a, b), order in bonds.items() if atom in (a, b)]
            ids, orders = (
                " ".join(str(one) for one in side)
                for side in ([i + 1 for i, _ in near], [o for _, o in near])
            )
            lines.append(f" {atom + 1} {types[atom]} {len(near)} {ids} 0 {orders} 1.0 2.0 -0.1")
        lines.append("# ")
    return "\n".join(lines) + "\n"
