"""Rows in several arrays: each entry has one place, and no bit of a run depends on the arrays."""

import numpy as np
import pytest
from ase.build import bulk

from taichimd import Engine, load_forcefield
from taichimd.core.arguments import ArrayField, Bundle, Number, kernel, types_of
from taichimd.core.errors import CapacityError
from taichimd.core.runtime import start, ti
from taichimd.core.units import FS
from taichimd.forcefields.lennard_jones import LennardJones
from taichimd.neighbours import entries, pages, rows
from taichimd.neighbours.verlet_list import VerletList
from taichimd.program import groups
from taichimd.program.decomposition import ByTuple
from taichimd.system.frame import make_frame
from taichimd.system.species import elements_of, kinds_of, symbols_of
from taichimd.system.state import State
from taichimd.system.velocities import set_temperature


class Table(Bundle):
    width = Number("i32", "slots of a row")
    entries = ArrayField("i32", "n width", "rows")


def test_pages_hold_the_rows_of_all_atoms():
    for n, width, most in ((1000, 8, 3000), (64, 8, 256), (100_000_000, 96, 2**31 - 1), (5, 4, 1)):
        pages.PAGE, before = most, pages.PAGE
        try:
            number = pages.pages_for(n, width)
        finally:
            pages.PAGE = before
        length = pages.page_length(n, number)
        assert number * length >= n
        assert number == 1 or length % rows.WARP == 0
        assert length * width <= most or length == rows.WARP


@pytest.mark.parametrize("layout", [rows.ATOM_MAJOR, rows.SLOT_MAJOR, rows.CHUNKED])
def test_what_is_written_is_read(layout):
    start("cpu")
    n, width, number = 100, 16, 3
    table = pages.in_pages(Table, tuple(Table.fields), "entries", number)
    found = ArrayField("i32", "n width", "what was read")

    @kernel(types_of(ti.f64), t=table, found=found, n=Number("i32", "atoms"))
    def there_and_back(t, found, n):
        for i in range(n):
            for s in range(t.width):
                pages.write(t.entries, i, s, n, t.width, layout, i * t.width + s)
        for i in range(n):
            for s in range(t.width):
                found[i * t.width + s] = pages.read(t.entries, i, s, n, t.width, layout)

    arrays, result = pages.rows_in_pages(n, width, number, "rows", 0, ""), ti.ndarray(ti.i32, n * width)
    for array in arrays:
        array.fill(-1)
    there_and_back(Table(width, arrays), result, n)
    np.testing.assert_array_equal(result.to_numpy(), np.arange(n * width))
    held = np.concatenate([array.to_numpy() for array in arrays])
    np.testing.assert_array_equal(np.sort(held[held >= 0]), np.arange(n * width))


def argon():
    atoms = bulk("Ar", cubic=True, a=5.4).repeat(5)
    return atoms, LennardJones(epsilon=0.0104, sigma=3.4, cutoff=6.0)


def silicon(file):
    return bulk("Si", cubic=True, a=5.43).repeat(3), load_forcefield(file)


def carbide():
    return bulk("SiC", "zincblende", cubic=True, a=4.36).repeat(4), load_forcefield("SiC_2007.vashishta")


def run(make, temperature):
    atoms, forcefield = make()
    set_temperature(atoms, temperature, 3)
    engine = Engine(atoms, forcefield, backend="cpu", decomposition="particle")
    engine.advance(60, 4.0 * FS)
    return engine, (engine.positions(), engine.velocities(), engine.evaluate().virials)


@pytest.mark.parametrize(
    ("make", "temperature"),
    [
        (argon, 300.0),
        pytest.param(lambda: silicon("Si.tersoff"), 3000.0, marks=pytest.mark.long),
        pytest.param(lambda: silicon("Si.sw"), 3000.0, marks=pytest.mark.long),
        pytest.param(carbide, 3000.0, marks=pytest.mark.long),
    ],
    ids=["argon", "tersoff", "sw", "vashishta"],
)
def test_a_run_has_the_bits_of_one_array(make, temperature, monkeypatch):
    whole, expected = run(make, temperature)
    assert whole.device.lists.verlet.pages == 1
    monkeypatch.setattr(pages, "PAGE", 4_000)
    paged, found = run(make, temperature)
    lists = paged.device.lists
    assert lists.verlet.pages > 2
    assert len(lists.verlet.entries) == lists.verlet.pages
    assert lists.verlet.builds > 1
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_entries_have_32_bits_for_atoms_and_images():
    start("cpu")
    lists = VerletList(State(np.zeros(2, np.int32), np.ones(2), "float64"), bits=32)
    lists._set_images(np.ones(3, np.int64), 100_000_000)
    with pytest.raises(CapacityError, match="134217729 atoms"):
        lists._set_images(np.ones(3, np.int64), 2**27 + 1)

    @kernel(types_of(ti.f64), found=ArrayField("i32", "1", "neighbour"), entry=Number("i32", "an entry"))
    def number_of(found, entry):
        found[0] = entries.neighbour(entry, 5)

    found = ti.ndarray(ti.i32, 1)
    number_of(found, (99_999_999 << 5 | 26) - 2**32)
    assert found.to_numpy().tolist() == [99_999_999]


def test_pages_are_counted_for_rows_that_may_grow():
    atoms, forcefield = argon()
    engine = Engine(atoms, forcefield, backend="cpu")
    choice = groups.Choice(forcefield.bind(["Ar"]), (groups.ByTuple(),), "cpu", False, None)
    assert choice.pages(engine.device.state, engine.device.cells.frames) == 1
    assert choice.groups(500, 4)[0].near_list is False
    assert choice.groups(500)[0].near_list


def test_species_of_many_atoms():
    numbers = np.array([18, 6, 18, 1])
    assert symbols_of(numbers) == ["Ar", "C", "Ar", "H"]
    assert elements_of(numbers) == ("Ar", "C", "H")
    np.testing.assert_array_equal(kinds_of(numbers, ["Ar", "C", "H"]), [0, 1, 0, 2])


def test_a_part_of_the_atoms_has_pages_for_the_density_of_all(monkeypatch):
    """As a process of several has, which holds a slab of the cell."""
    start("cpu")
    monkeypatch.setattr(pages, "PAGE", 4_000)
    atoms = bulk("Ar", "fcc", 5.3, cubic=True) * (6, 6, 6)
    bounds = LennardJones(epsilon=0.0104, sigma=3.4, cutoff=6.0).bind(["Ar"])
    choice = groups.Choice(bounds, (ByTuple(False, False),), "cpu", False, 0.5)
    kinds, masses = np.zeros(len(atoms), np.int32), np.full(len(atoms), 40.0)
    quarter = len(atoms) // 4
    frames = [make_frame(atoms.cell.array, atoms.pbc)]
    whole = choice.pages(State(kinds, masses, "float64"), frames)
    part = State(kinds[:quarter], masses[:quarter], "float64", others=(kinds, masses))
    assert whole >= 4
    assert 4 * choice.pages(part, frames) >= whole
