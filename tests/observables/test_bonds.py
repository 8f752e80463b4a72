"""Bond angles and coordination numbers of crystals that are known exactly, in any cell."""

import re

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.neighborlist import neighbor_list

from taichimd.core.errors import AnalysisError
from taichimd.estimators.bonds import bond_structure, highest_peak
from taichimd.system.lattices import build_lattice

TETRAHEDRAL = np.degrees(np.arccos(-1 / 3))
STRAIGHT = 180.0


def structure_of(atoms, length, bins=180, frames=1, blocks=1):
    return bond_structure(
        atoms.get_chemical_symbols(), np.repeat([atoms.positions], frames, 0),
        np.repeat([atoms.cell[:]], frames, 0), atoms.pbc, length, bins, blocks,
    )  # fmt: skip


def bins_of(found, triple):
    """Middle of the bins that hold anything, and the width of one."""
    density = found.angles[triple].value
    width = found.angle[1] - found.angle[0]
    assert density.sum() * width == pytest.approx(1.0)
    return found.angle[density > 0], width


def holds(found, triple, angle):
    """Whether all angles of a triple lie in the bin of an angle."""
    there, width = bins_of(found, triple)
    return len(there) == 1 and abs(there[0] - angle) <= 0.5 * width + 1e-6


@pytest.fixture
def silica():
    return build_lattice("silica", 1)


def test_beta_cristobalite(silica):
    found = structure_of(silica, 2.0, bins=1800)
    assert set(found.angles) == {("O", "Si", "O"), ("Si", "O", "Si")}
    assert holds(found, ("O", "Si", "O"), TETRAHEDRAL)
    assert holds(found, ("Si", "O", "Si"), STRAIGHT)
    for pair, number in {("Si", "O"): 4, ("O", "Si"): 2, ("Si", "Si"): 0, ("O", "O"): 0}.items():
        around = found.coordination[pair]
        assert around.mean.value == number
        assert around.fractions.value.tolist() == [float(k == number) for k in range(5)]
        assert np.isnan(around.mean.error)


def test_three_species_count_each_angle_once():
    """One angle, between two unlike ends: no triple with two like ends has an entry."""
    x = np.array([[0, 0, 0], [1, 0, 0], [np.cos(2.0), np.sin(2.0), 0]])
    found = structure_of(Atoms("OHF", positions=x), 1.2, bins=1800)
    assert set(found.angles) == {("F", "O", "H")}
    assert holds(found, ("F", "O", "H"), np.degrees(2.0))


def test_triclinic_cell_without_periodicity_in_one_direction(silica):
    """The same crystal in a sheared cell has the same bonds; one cut open has fewer."""
    whole = build_lattice("silica", 2)
    sheared = whole.copy()
    sheared.set_cell(whole.cell[:] + 14.32 * np.array([[0, 0, 0], [1, 0, 0], [-1, 1, 0]]))
    sheared.wrap()
    for atoms in (whole, sheared):
        found = structure_of(atoms, 2.0, bins=1800)
        assert holds(found, ("O", "Si", "O"), TETRAHEDRAL)
        assert holds(found, ("Si", "O", "Si"), STRAIGHT)
        assert found.coordination["Si", "O"].mean.value == 4
    whole.pbc = (True, True, False)
    cut = structure_of(whole, 2.0).coordination["Si", "O"]
    # The lowest of eight layers of Si loses the two bonds that went down.
    assert cut.mean.value == pytest.approx(4 - 2 / 8)
    assert cut.fractions.value[[2, 4]] == pytest.approx([1 / 8, 7 / 8])


def test_images_in_a_cell_smaller_than_the_bond():
    """One atom: its six neighbours are its own images; and two shells of them with a longer bond."""
    simple = bulk("Cu", "sc", a=2.0)
    found = structure_of(simple, 2.1)
    assert found.coordination["Cu", "Cu"].mean.value == 6
    there, width = bins_of(found, ("Cu", "Cu", "Cu"))
    assert abs(there - [90, 180]) == pytest.approx(0.5 * width)
    # Of 15 pairs of bonds 3 are straight.
    assert found.angles["Cu", "Cu", "Cu"].value[-1] * width == pytest.approx(3 / 15)
    assert structure_of(simple, 2.9).coordination["Cu", "Cu"].mean.value == 18
    primitive = bulk("Si", "diamond", a=5.431)
    found = structure_of(primitive, 2.6, bins=1800)
    assert len(primitive) == 2
    assert holds(found, ("Si", "Si", "Si"), TETRAHEDRAL)


def test_errors_are_the_scatter_of_blocks(silica):
    """Half of the frames with one oxygen taken far from its place: means and errors are those by hand.

    In turn at random the frames are independent; one half after the other they are not, so there is no error.
    """
    lattice = build_lattice("silica", 2)
    moved = lattice.copy()
    moved.positions[lattice.numbers == 8, 2] += np.r_[1.2, np.zeros(127)]
    lost = np.bincount(neighbor_list("i", moved, 2.0), minlength=192)[lattice.numbers == 14].mean()
    assert lost < 4

    def coordination(is_moved):
        frames = [moved.positions if one else lattice.positions for one in is_moved]
        found = bond_structure(
            lattice.get_chemical_symbols(), frames, [lattice.cell[:]] * 40, lattice.pbc, 2.0, blocks=40
        )
        return found.coordination["Si", "O"].mean

    halves = np.arange(40) >= 20
    around = coordination(np.random.default_rng(0).permutation(halves))
    assert around.value == pytest.approx((4 + lost) / 2)
    assert around.error == pytest.approx((4 - lost) / 2 / np.sqrt(39), rel=0.3)
    assert around.note == ""
    around = coordination(halves)
    assert around.value == pytest.approx((4 + lost) / 2)
    assert np.isnan(around.error)
    assert re.fullmatch(
        r"no error: the record holds [2-4]\.\d independent samples, fewer than 10", around.note
    )


def test_angles_that_only_one_block_has_are_still_a_distribution():
    three = np.array([[[0, 0, 0], [1.5, 0, 0], [0, 1.5, 0]], [[0, 0, 0], [9, 0, 0], [0, 9, 0.0]]])
    found = bond_structure(["C"] * 3, three, np.zeros((2, 3, 3)), [False] * 3, 2.0, blocks=2)
    assert bins_of(found, ("C", "C", "C"))[0] == pytest.approx([90.5])


def test_species_that_is_missing_has_no_entry():
    found = structure_of(bulk("Si", cubic=True), 2.6)
    assert list(found.angles) == [("Si", "Si", "Si")]
    assert list(found.coordination) == [("Si", "Si")]


def test_peak_of_a_noisy_histogram():
    rng = np.random.default_rng(1)
    counts, edges = np.histogram(rng.normal(142.3, 10.0, 40_000), 180, (0, 180))
    peak = highest_peak(0.5 * (edges[1:] + edges[:-1]), counts.astype(float))
    assert peak.position == pytest.approx(142.3, abs=0.3)
    assert peak.width == pytest.approx(10.0 * np.sqrt(8 * np.log(2)), rel=0.03)
    assert peak.height == pytest.approx(40_000 / (10.0 * np.sqrt(2 * np.pi)), rel=0.03)


def test_peak_at_the_end_of_a_curve_and_of_one_bin():
    x = np.arange(6.0)
    end = highest_peak(x, np.array([0.0, 0, 0, 0, 1, 5]))
    assert (end.position, end.height) == (5.0, 5.0)
    assert np.isnan(end.width)
    alone = highest_peak(x, np.array([0.0, 0, 5, 0, 0, 0]))
    assert (alone.position, alone.height, alone.width) == pytest.approx((2.0, 5.0, 1.0))


def nothing_bonded(silica):
    structure_of(silica, 1.0)


def dimers(silica):
    structure_of(Atoms("N2", positions=[[0, 0, 0], [1.1, 0, 0]]), 1.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (nothing_bonded, "no atom has two bonds shorter than 1 Å; take a longer bond length"),
        (dimers, "no atom has two bonds shorter than 1.5 Å; take a longer bond length"),
        (lambda s: structure_of(s, 0.0), "length = 0.0: expected a number above 0"),
        (lambda s: structure_of(s, np.nan), "length = nan: expected a number above 0"),
        (lambda s: structure_of(s, 2.0, blocks=2), "1 frames make no 2 blocks"),
        (lambda s: structure_of(s[:0], 2.0), "no atom has two bonds"),
        (lambda s: structure_of(s + s, 2.0), "a bond has no length; two atoms have the same position"),
        (lambda s: bond_structure(["Si"], [[[0, 0, np.inf]]], [np.eye(3)], True, 2.0), "not finite"),
        (
            lambda s: bond_structure(["Si"], [s.positions], [s.cell[:]], True, 2.0),
            r"positions \(1, 24, 3\) and cells \(1, 3, 3\) do not fit 1 symbols",
        ),
        (lambda s: bond_structure(list(s.symbols), [s.positions], [s.cell[:]] * 2, True, 2.0), "do not fit"),
    ],
)
def test_mistakes(silica, call, message):
    with pytest.raises(AnalysisError, match=message):
        call(silica)
