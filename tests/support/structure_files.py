"""Valid structure files of many formats: what tests and fuzzing change one thing of."""

from pathlib import Path

import numpy as np
from ase.build import bulk
from ase.io import write

LAMMPS_DATA = """LAMMPS data file via write_data, version 2 Aug 2023, timestep = 0, units = real

3 atoms # total
2 atom types

0.0 10.0 xlo xhi
0.0 11.0 ylo yhi
0.0 12.0 zlo zhi
1.0 0.5 -0.5 xy xz yz

Masses

1 15.9994 # O
2 2.014102 # D

Atoms # charge

2 2 0.4 1.96 1.0 1.0 0 0 0 # one deuterium
1 1 -0.8 1.0 1.0 1.0 0 0 1
3 2 0.4 0.76 1.92 1.0 0 0 0

Velocities

1 0.001 0.0 0.0
2 0.0 0.002 0.0
3 0.0 0.0 -0.003
"""
LAMMPS_DUMP = """ITEM: UNITS
real
ITEM: TIMESTEP
100
ITEM: NUMBER OF ATOMS
2
ITEM: BOX BOUNDS pp pp ff
0 9
0 9
0 9
ITEM: ATOMS id type element x y z vx vy vz
2 1 Si 2.35 1 1 0.001 0 0
1 1 Si 0.5 1 1 0 0.002 0
"""
PDB = """CRYST1   12.000   12.000   12.000  90.00  90.00  90.00 P 1
ATOM      1  O  AHOH A   1       1.000   1.000   1.000  0.60  0.00           O
ATOM      2  H1 AHOH A   1       1.960   1.000   1.000  0.60  0.00           H
ATOM      3  H2 AHOH A   1       0.760   1.920   1.000  0.60  0.00           H
ATOM      4  O  BHOH A   1       1.300   1.000   1.000  0.40  0.00           O
ATOM      5  H1 BHOH A   1       2.260   1.000   1.000  0.40  0.00           H
ATOM      6  H2 BHOH A   1       1.060   1.920   1.000  0.40  0.00           H
END
"""
CIF = """data_silicon
_cell_length_a 5.431
_cell_length_b 5.431
_cell_length_c 5.431
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
_space_group_name_H-M_alt 'F d -3 m'
_space_group_IT_number 227
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
_atom_site_occupancy
Si1 Si4+ 0.0 0.0 0.0 1.0
"""
POSCAR = """silicon
1.0
5.431 0.0 0.0
0.0 5.431 0.0
0.0 0.0 5.431
Si
2
Selective dynamics
Direct
0.0 0.0 0.0 F F F
0.25 0.25 0.25 T T T

0.0 0.0 0.0
0.001 -0.002 0.003
"""
GRO = """water t= 0.0
3
    1SOL     OW    1   0.126   0.162   0.168  0.1227 -0.0580  0.0434
    1SOL    HW1    2   0.222   0.162   0.168  0.8085  0.3191 -0.7791
    1SOL    HW2    3   0.102   0.254   0.168 -0.9045 -2.6469  1.3180
   1.86206   1.86206   1.86206
"""
RES = """TITL silicon
CELL 1.0 5.431 5.431 5.431 90 90 90
LATT -1
SFAC Si
Si 1 0.0 0.0 0.0 1.0
Si 1 0.25 0.25 0.25 1.0
END
"""
EXTXYZ = """2
Lattice="5.431 0 0 0 5.431 0 0 0 5.431" Properties=species:S:1:pos:R:3:mass:R:1:vel:R:3 pbc="T T T"
Si 0.0 0.0 0.0 28.085 0.001 0.0 0.0
Si 1.36 1.36 1.36 28.085 0.0 -0.001 0.0
"""
TEXTS = {
    "base.data": LAMMPS_DATA, "base.lammpstrj": LAMMPS_DUMP, "base.pdb": PDB, "base.cif": CIF,
    "POSCAR": POSCAR, "base.gro": GRO, "base.res": RES, "base.extxyz": EXTXYZ,
    "base.xyz": "2\nheavy hydrogen\nD 0 0 0\nD 0 0 0.74\n",
}  # fmt: skip
"""Files by name, written by hand."""
_BY_ASE = ("base.traj", "base.json", "base.xsf", "base.cube", "base.gen", "base.xsd", "base.cfg", "base.vasp")
"""Files that ASE writes."""


def structure_bases(folder: Path) -> list[Path]:
    """Write a valid file of each format into a folder; their paths, each of which `read_structure` reads."""
    atoms = bulk("Si", cubic=True)
    atoms.positions += np.random.default_rng(5).normal(scale=0.05, size=(8, 3))
    paths = []
    for name, text in TEXTS.items():
        paths.append(folder / name)
        paths[-1].write_text(text)
    for name in _BY_ASE:
        paths.append(folder / name)
        write(paths[-1], atoms)
    return paths


def mutated(content: bytes, seed: int) -> bytes:
    """A file with one to three random changes: bytes changed, removed, or doubled, lines lost or swapped."""
    rng = np.random.default_rng(seed)
    lines = content.split(b"\n")
    for _ in range(int(rng.integers(1, 4))):
        kind, k = int(rng.integers(5)), int(rng.integers(max(1, len(lines))))
        if kind == 0 and len(lines) > 1:
            del lines[k]
        elif kind == 1:
            other = int(rng.integers(len(lines)))
            lines[k], lines[other] = lines[other], lines[k]
        elif kind == 2:
            lines.insert(k, lines[k])
        else:
            line = bytearray(lines[k])
            if line:
                at = int(rng.integers(len(line)))
                line[at : at + 1] = bytes([int(rng.integers(256))]) if kind == 3 else b""
            words = bytes(line).split(b" ")
            if kind == 4:
                odd = [b"nan", b"1e999", b"-1", b"99999999999999999999", b"\xd9\xa3", b"", b"x" * 300, b"0"]
                words[int(rng.integers(len(words)))] = odd[int(rng.integers(len(odd)))]
            lines[k] = b" ".join(words)
    return b"\n".join(lines)
