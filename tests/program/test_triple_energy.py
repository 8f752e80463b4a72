"""The energy of all triples: each once, with the same bits however it is shared; what is refused."""

import subprocess
import sys
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from triples import brute_force, trace_form

from taichimd import AxilrodTeller, LennardJones, triple_energy
from taichimd.core.errors import EvaluationError, SettingsError, StructureError
from taichimd.enumerate.all_triples import MAPPINGS
from taichimd.enumerate.triple_items import TILING, Tiling, energy_items
from taichimd.program.triple_energy import TripleSum, in_ev

NU = 45.69
PURE = {"Ar": 45.69, "Kr": 137.6}


def grid(n, seed=1):
    """Atoms near the points of a cube, 4 angstrom apart."""
    side = int(np.ceil(n ** (1 / 3)))
    points = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), -1).reshape(-1, 3)[:n]
    return 4.0 * points + np.random.default_rng(seed).uniform(-0.5, 0.5, (n, 3))


@pytest.mark.parametrize("tiles", [1, 2, 3, 4, 5, 6, 9, 16, 17, 30])
def test_tiles_come_once(tiles):
    """Three tiles, two and one: as often as atoms of them make triples."""
    found = {}
    for i, j, k, count in energy_items(tiles * TILING.side):
        for at in range(count):
            key = tuple(sorted((i, j, (k + at) % tiles)))
            assert i != j or count > 0
            found[key, i == j] = found.get((key, i == j), 0) + 1
    assert found == {(key, False): 1 for key in combinations(range(tiles), 3)} | {
        (tuple(sorted((i, i, k))), True): 1 for i in range(tiles) for k in range(tiles)
    }


@pytest.mark.parametrize("n", [3, 64, 65, 200])
def test_energy_is_that_of_the_trace_form(n):
    x = grid(n)
    expected = trace_form(x, NU)[0]
    found = triple_energy(Atoms("Ar" * n, x), AxilrodTeller(NU), backend="cpu")
    assert found == pytest.approx(expected, rel=2e-13)


def test_parts_and_mappings():
    """Parts have the same bits together; mappings without tiles round each triple otherwise."""
    x = grid(200)
    sums = TripleSum(np.zeros(200, np.int32), np.full((1, 1, 1), NU), "cpu")
    sums.place(x)
    whole = in_ev(sums.part())
    for of in (2, 3, 7):
        assert in_ev(*(sums.part(number, of) for number in range(of))) == whole
    other = TripleSum(np.zeros(200, np.int32), np.full((1, 1, 1), NU), "cpu", tiling=Tiling(32, 2))
    other.place(x)
    assert in_ev(other.part()) == pytest.approx(whole, rel=1e-12)
    for mapping in MAPPINGS:
        one, many = in_ev(sums.mapped(mapping)), in_ev(sums.mapped(mapping, 5))
        assert one == many
        assert one == pytest.approx(whole, rel=1e-12)


PROCESSES = """
from taichimd.core.processes import communicator
world = communicator()
import sys
import numpy as np
from ase import Atoms
from taichimd import AxilrodTeller, triple_energy
atoms = Atoms("Ar200", np.load(sys.argv[1]))
for size in (1, 2, 3):
    some = world.Split(world.Get_rank() < size)
    if world.Get_rank() < size:
        energy = triple_energy(atoms, AxilrodTeller(45.69), backend="cpu", processes=some)
        print(energy.hex() + " ", flush=True)
"""


@pytest.mark.skipif(not find_spec("mpi4py"), reason="mpi4py is not installed")
@pytest.mark.long
def test_processes(tmp_path):
    """One, two and three of MPI get the same bits, those of no process else."""
    np.save(tmp_path / "x.npy", grid(200))
    (tmp_path / "energy.py").write_text(PROCESSES)
    command = [str(Path(sys.executable).parent / "mpiexec"), "-n", "3", sys.executable, "energy.py", "x.npy"]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    alone = triple_energy(Atoms("Ar200", grid(200)), AxilrodTeller(NU), backend="cpu")
    assert out.split() == [alone.hex()] * 6


def test_a_cutoff_of_a_mapping():
    """All three sides below it."""
    x = grid(40)
    sums = TripleSum(np.zeros(40, np.int32), np.full((1, 1, 1), NU), "cpu")
    sums.place(x)
    expected = brute_force(Atoms("Ar40", x), lambda *_: NU, 7.0)[0]
    for mapping in MAPPINGS:
        assert in_ev(sums.mapped(mapping, cutoff=7.0)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("enumeration", ["all-triples", "direct"])
def test_species(enumeration):
    atoms = Atoms(np.random.default_rng(3).choice(list(PURE), 70), grid(70))
    nu = {("Ar", "Ar", "Kr"): 66.0, ("Ar", "Kr", "Kr"): 95.3, **PURE}
    table = {tuple(sorted(key if isinstance(key, tuple) else (key,) * 3)): value for key, value in nu.items()}
    expected = brute_force(atoms, lambda *three: table[tuple(sorted(three))])[0]
    found = triple_energy(atoms, AxilrodTeller(nu, enumeration=enumeration), backend="cpu")
    assert found == pytest.approx(expected, rel=1e-12)


def test_mistakes():
    trimer = Atoms("Ar3", [[0, 0, 0], [4, 0, 0], [0, 4, 0]])
    with pytest.raises(StructureError, match="has 2 atoms; a triple has three"):
        triple_energy(trimer[:2], AxilrodTeller())
    with pytest.raises(EvaluationError, match="atoms have the same position"):
        triple_energy(Atoms("Ar3", [[0, 0, 0], [4, 0, 0], [0, 0, 0]]), AxilrodTeller(), backend="cpu")
    with pytest.raises(StructureError, match="check the unit of the positions"):
        triple_energy(Atoms("Ar3", [[0, 0, 0], [4e7, 0, 0], [0, 9, 0]]), AxilrodTeller(), backend="cpu")
    with pytest.raises(SettingsError, match="a periodic cell has infinitely many; give it a cutoff"):
        triple_energy(Atoms("Ar3", trimer.positions, cell=[20] * 3, pbc=True), AxilrodTeller())
    for other in (LennardJones(epsilon=0.01, sigma=3.4, cutoff=8.0), AxilrodTeller(cutoff=8.0)):
        with pytest.raises(SettingsError, match="expected AxilrodTeller alone, without a cutoff"):
            triple_energy(trimer, other)
    with pytest.raises(SettingsError, match="'balanced', expected all-triples, direct, matrix"):
        AxilrodTeller(enumeration="balanced")
