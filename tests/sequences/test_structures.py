"""Chains of structure files: residues, labels, gaps."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from taichimd.core.errors import SequenceError
from taichimd.sequences.chains import read_chains
from taichimd.sequences.structures import read_all, read_structure

pytestmark = pytest.mark.mdtraj

PHI, PSI, OMEGA = np.radians([-57.0, -47.0, 180.0])
LINE = "{:6}{:5d}  {:<3} {:3} {:1}{:4d}    {:8.3f}{:8.3f}{:8.3f}  1.00  0.00           {:1}\n"


def placed(a, b, c, length, angle, torsion):
    """A point at a distance from c, an angle b-c-point and a torsion a-b-c-point."""
    x = (c - b) / np.linalg.norm(c - b)
    n = np.cross(b - a, x)
    n /= np.linalg.norm(n)
    angle = np.radians(angle)
    local = length * np.array(
        [-np.cos(angle), np.sin(angle) * np.cos(torsion), np.sin(angle) * np.sin(torsion)]
    )
    return c + local @ np.array([x, np.cross(n, x), n])


def helix(names, chain="A", leave_out=(), shift=0.0):
    """Lines of a PDB file: the backbone of an alpha helix."""
    atoms = [np.array([0.0, 0.0, 0.0]), np.array([1.458, 0.0, 0.0])]
    atoms.append(placed(np.array([0.0, 1.0, 0.0]), *atoms, 1.525, 111.0, 0.5))
    backbone = [atoms]
    for _ in names[:-1]:
        n, ca, c = backbone[-1]
        following = placed(n, ca, c, 1.329, 116.6, PSI)
        alpha = placed(ca, c, following, 1.458, 121.7, OMEGA)
        backbone.append([following, alpha, placed(c, following, alpha, 1.525, 111.0, PHI)])
    lines, number = [], 0
    for k, (name, (n, ca, c)) in enumerate(zip(names, backbone, strict=True), start=1):
        oxygen = placed(n, ca, c, 1.231, 120.5, PSI + np.pi)
        for atom, at in zip(("N", "CA", "C", "O"), (n, ca, c, oxygen), strict=True):
            number += 1
            if k not in leave_out:
                lines.append(LINE.format("ATOM", number, atom, name, chain, k, *(at + shift), atom[0]))
    return [*lines, "TER\n"]


WATER = LINE.format("HETATM", 900, "O", "HOH", "W", 1, 50.0, 50.0, 50.0, "O")
NAMES = ["ALA", "LEU", "GLY", "TRP"] * 4


def test_helices_are_found_in_two_chains(tmp_path):
    text = "".join([*helix(NAMES), *helix(["SER"] * 12, "B", shift=40.0), WATER, "END\n"])
    file = tmp_path / "two.pdb.gz"
    file.write_bytes(gzip.compress(text.encode()))
    first, second = read_structure(file)
    assert (first.name, first.sequence) == ("two_A", "ALGW" * 4)
    assert (second.name, second.sequence) == ("two_B", "S" * 12)
    assert first.states[2:-2] == "H" * 12
    assert first.states[0] == first.states[-1] == "C"


def test_mmcif_has_the_same_chain(tmp_path):
    import mdtraj

    (tmp_path / "one.pdb").write_text("".join(helix(NAMES)))
    mdtraj.load(str(tmp_path / "one.pdb")).save_cif(str(tmp_path / "one.cif"))
    assert read_structure(tmp_path / "one.cif") == read_structure(tmp_path / "one.pdb")


def test_gaps_and_other_residues_are_unknown(tmp_path):
    names = ["UNK" if k == 12 else name for k, name in enumerate(NAMES)]
    (tmp_path / "gap.pdb").write_text("".join(helix(names, leave_out=(6, 7))))
    (found,) = read_structure(tmp_path / "gap.pdb")
    assert found.sequence == "ALGWAXXWALGWXLGW"
    assert len(found.states) == 16


def test_a_gap_without_a_gap_in_the_numbers_is_one_unknown_residue(tmp_path):
    """Where C and the next N are no bond apart: the second half of the helix is elsewhere."""
    near = [line for line in helix(NAMES) if line.startswith("ATOM") and int(line[22:26]) <= 8]
    far = [line for line in helix(NAMES, shift=9.0) if line.startswith("ATOM") and int(line[22:26]) > 8]
    (tmp_path / "gap.pdb").write_text("".join([*near, *far, "TER\n"]))
    (found,) = read_structure(tmp_path / "gap.pdb")
    assert found.sequence == "ALGWALGW" + "X" + "ALGWALGW"
    assert len(found.states) == 17


@pytest.mark.parametrize(
    ("suffix", "text", "words"),
    [
        ("pdb", "", "as a structure: "),
        ("cif", "", "as a structure: "),
        ("pdb", "hello\n", "as a structure: "),
        ("cif", "hello\n", "as a structure: "),
        ("pdb", WATER, "has no protein chain: expected residues with N"),
    ],
)
def test_other_files_are_refused(tmp_path, suffix, text, words):
    (tmp_path / f"bad.{suffix}").write_text(text)
    with pytest.raises(SequenceError, match=words):
        read_structure(tmp_path / f"bad.{suffix}")


def test_files_are_told_apart_by_their_names(tmp_path):
    (tmp_path / "one.pdb").write_text("".join(helix(NAMES)))
    Path(tmp_path / "two.csv").write_text("chain,sequence,states\nb,acd,C-h\n")
    assert [c.name for c in read_all([tmp_path / "one.pdb", tmp_path / "two.csv"])] == ["one_A", "b"]
    assert (read_chains(tmp_path / "two.csv")[0].sequence, read_chains(tmp_path / "two.csv")[0].states) == (
        "ACD",
        "CCH",
    )
