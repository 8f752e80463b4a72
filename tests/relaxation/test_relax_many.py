"""Many structures relaxed in one launch: each as alone, and one that fails does not trouble the others."""

import json
import re

import ase.io
import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.constraints import FixAtoms

from taichimd import LennardJones, ReaxFF, relax, testing
from taichimd.cli.app import main
from taichimd.core.errors import RelaxationError, SettingsError, StructureError


def structures():
    """Of several sizes; one has fixed atoms, one is at its minimum."""
    found = []
    for seed, repeat in enumerate((1, (2, 1, 1), (5, 1, 1), 1)):
        atoms = bulk("Si", cubic=True).repeat(repeat)
        if seed < 3:
            atoms.rattle(0.05, seed=seed)
        found.append(atoms)
    found[1].set_constraint(FixAtoms([0, 5]))
    return found


@pytest.mark.parametrize(
    "options", [{}, {"cell": "full", "pressure": 1.0}, {"steps": 7}, {"precision": "mixed"}], ids=str
)
def test_each_is_what_it_is_alone(options):
    rows = []
    together = relax(structures(), "Si.sw", fmax=1e-3, on_row=rows.append, **options)
    for number, (found, atoms) in enumerate(zip(together, structures(), strict=True)):
        own = []
        alone = relax(atoms, "Si.sw", fmax=1e-3, on_row=own.append, **options)
        np.testing.assert_array_equal(found.atoms.positions, alone.atoms.positions)
        np.testing.assert_array_equal(found.atoms.cell.array, alone.atoms.cell.array)
        assert (found.steps, found.reason, found.energy) == (alone.steps, alone.reason, alone.energy)
        assert (found.fmax, found.pressure) == (alone.fmax, alone.pressure)
        assert [row for row in rows if row.system == number][-1].energy == own[-1].energy
    if not options:
        assert {one.reason for one in together} == {"converged"}
        assert len({one.steps for one in together}) > 2


def test_a_cell_that_collapses_is_put_aside():
    argon = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")
    given = [bulk("Ar", cubic=True, a=a) for a in (30.0, 5.3)]
    options = {"cell": "isotropic", "pressure": 0.5, "fmax": 1e-3}
    found = relax(given, argon, **options)
    assert found[0].reason.startswith("the cell has collapsed: a length is")
    assert not found[0].converged
    np.testing.assert_array_equal(found[0].atoms.positions, given[0].positions)
    np.testing.assert_array_equal(found[0].atoms.cell.array, given[0].cell.array)
    alone = relax(given[1], argon, **options)
    assert found[1].converged
    np.testing.assert_array_equal(found[1].atoms.cell.array, alone.atoms.cell.array)


def test_atoms_that_fall_into_each_other_are_put_aside():
    sticky = LennardJones(epsilon=5.0, sigma=0.012, cutoff=4.0)
    given = [Atoms("Ar2", [[0, 0, 0], [0, 0, z]], cell=[9, 9, 9], pbc=True) for z in (2.0, 0.05)]
    found = relax(given, sticky, cell="isotropic", fmax=1e-3, smax=1.0)
    assert found[0].converged
    text = r"the relaxation failed after \d+ steps: system 1 .*atoms 0 and 1 .*angstrom apart"
    assert re.match(text, found[1].reason)
    with pytest.raises(RelaxationError, match=r"failed after \d+ steps: atoms 0 and 1"):
        relax(given[1], sticky, cell="isotropic", fmax=1e-3, smax=1.0)


@pytest.mark.long
def test_charges_relax_one_after_the_other():
    from ase.build import molecule

    given = [molecule("H2O"), molecule("CH4")]
    rows = []
    found = relax(given, ReaxFF("CHO.ffield"), fmax=0.05, on_row=rows.append)
    assert [one.converged for one in found] == [True, True]
    assert {row.system for row in rows} == {0, 1}


def test_mistakes_name_the_system():
    with pytest.raises(StructureError, match=r"system 1 \(counted from 0\): expected an Atoms object"):
        relax([bulk("Si"), "Si"], "Si.sw")
    open_one = bulk("Si")
    open_one.pbc = False
    with pytest.raises(SettingsError, match=r"system 1 \(counted from 0\): cell = 'full'"):
        relax([bulk("Si"), open_one], "Si.sw", cell="full")


def test_the_command_writes_a_folder_for_each(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, atoms in zip("AB", structures(), strict=False):
        atoms.write(f"{name}.extxyz")
    bulk("Ge").write("C.extxyz")

    def command(*arguments):
        with pytest.raises(SystemExit) as end:
            main(["relax", *arguments, "--potential", "Si.sw", "--output", "out"])
        return end.value.code

    assert command("A.extxyz", "C.extxyz") == 2
    assert "error: 001-C: Si.sw has no parameters for Ge" in capsys.readouterr().err
    assert command("A.extxyz", "B.extxyz", "--fmax", "1e-3") == 0
    shown = capsys.readouterr().out
    assert "000-A" in shown
    alone = relax(ase.io.read("B.extxyz"), "Si.sw", fmax=1e-3)
    found = ase.io.read("out/001-B/relaxed.extxyz")
    np.testing.assert_allclose(found.positions, alone.atoms.positions, atol=1e-7)
    with open("out/001-B/relax.json") as file:
        assert json.load(file)["energy_eV"] == alone.energy
    assert command("A.extxyz", "B.extxyz", "--steps", "2", "--overwrite", "--json") == 1
    reports = json.loads(capsys.readouterr().out)
    assert [one["exit_reason"] for one in reports] == ["out of steps"] * 2
    assert command("A.extxyz", "B.extxyz") == 2
    assert "holds an earlier relaxation" in capsys.readouterr().err
