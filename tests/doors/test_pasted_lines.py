"""Pair lines of LAMMPS scripts, pasted: one line that says what to type here."""

import pytest

from taichimd.cli.app import main
from taichimd.forcefields.pasted import advice

FROM_FILE = "pair_coeff of LAMMPS: write --potential NiAl.eam.alloy; elements come from the structure"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pair_style eam/alloy\npair_coeff * * NiAl.eam.alloy Ni Al", FROM_FILE),
        ("pair_coeff 1 1 eam/alloy NiAl.eam.alloy Ni Al", FROM_FILE),
        ("pair_style eam/alloy/kk", "write --potential FILE.eam.alloy, with the file of the pair_coeff line"),
        ("pair_style morse 5.0", "write its coefficients into a .pair file (docs/forcefields/pairs.md)"),
        ("pair_coeff 1 1 0.0104 3.4 8.5", "with numbers: write them into a file, .lj"),
        ("pair_style hybrid/overlay sw zbl 1 2", "give --potential several times"),
        (
            "pair_style eam\npair_coeff 1 1 Cu_u3.eam\npair_coeff 2 2 Ni_u3.eam\npair_coeff 3 3 Cu_u3.eam",
            "pair_coeff of LAMMPS: write --potential Cu_u3.eam --potential Ni_u3.eam; elements",
        ),
        (
            "pair_style table linear 1000\npair_coeff 1 2 pairs.table SI_O 5.0",
            "pair_style table of LAMMPS: write its coefficients into a .pair file",
        ),
        ("pair_style meam", "pair_style meam of LAMMPS is not there"),
        ("pair_style adp\npair_coeff * * AlCu.adp Al Cu", "pair_style adp of LAMMPS is not there"),
        (
            "pair_style hybrid/overlay eam/alloy zbl 1 2\npair_coeff * * eam/alloy NiAl.eam.alloy Ni Al\n"
            "pair_coeff 1 1 zbl 28 28",
            "write --potential NiAl.eam.alloy and --potential with a .pair file for zbl; potentials are",
        ),
        ("pair_style hybrid/overlay adp table linear 1000", "pair_style adp of LAMMPS is not there"),
        ("pair_style hybrid sw lj/cut 2.5", "on= says on which pairs a term acts"),
        (
            "pair_style eam/alloy # metal\npair_coeff * * 'my Cu.eam.alloy' Cu",
            "write --potential 'my Cu.eam.alloy'",
        ),
        (
            "pair_style eam/fs &\n\npair_coeff * * Fe_2.set Fe",
            "rename Fe_2.set to Fe_2.set.eam.fs, because the end of the name says the format, and write "
            "--potential Fe_2.set.eam.fs; elements",
        ),
        ("pair_style sw/mod maxdelcs 0.1 0.6\npair_coeff * * MoS.sw.mod Mo S", "maxdelcs=(d1, d2)"),
    ],
)
def test_pair_lines(text, expected, capsys):
    assert expected in advice(text)
    with pytest.raises(SystemExit) as caught:
        main(["check", text])
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert expected in error
    assert error.count("\n") == 1


def test_options_of_that_name(capsys):
    words = "run x.xyz --pair-style eam/alloy --pair-coeff * * NiAl.eam.alloy Ni Al --steps 5".split()
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert (caught.value.code, capsys.readouterr().err) == (2, f"error: {FROM_FILE}\n")


def test_names_of_files_are_no_pair_lines():
    assert advice("pair_style.sw") is None
