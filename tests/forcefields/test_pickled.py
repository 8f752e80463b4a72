"""Force fields and calculators pickle, for pools of processes; copies share what cannot be copied."""

import copy
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from ase import Atoms
from ase.build import bulk
from declared import ANGLE_VALUES, MORSE_VALUES, angle, angle_derived, morse, morse_derived

from taichimd import (
    AxilrodTeller,
    LennardJones,
    ReaxFF,
    Simulation,
    StillingerWeber,
    TaichiMD,
    Tersoff,
    Vashishta,
    load_forcefield,
    pair_potential,
)
from taichimd.core.errors import ParameterFileError, SettingsError

OWN = """
import os

from taichimd import ManyBody, pair_forces, pair_potential


def make(factor):
    @pair_potential(params={"k": "eV"})
    def made(r, p):
        return factor * p.k * (r - p.cutoff) * (r - p.cutoff), 2.0 * factor * p.k * (r - p.cutoff)

    return made


@pair_forces
def spring(r, p, mine, theirs):
    return 0.5 * p.k * r, 0.5 * p.k, 0.5 * p.k


one = make(1.0)(k=0.1, cutoff=3.0)
two = make(2.0)(k=0.1, cutoff=3.0)
passes = ManyBody("spring", [spring], arrays=(), params={"k": "eV/A"})(k=0.1, cutoff=3.0)
"""
MAKERS = {
    "Tersoff": lambda: Tersoff("Si.tersoff"),
    "Tersoff without lambda3": lambda: Tersoff("Si_1989.tersoff"),
    "Stillinger-Weber": lambda: StillingerWeber("Si.sw"),
    "Vashishta of angles": lambda: Vashishta("SiO2_1990.vashishta"),
    "Vashishta of triplets": lambda: Vashishta("SiC_2007.vashishta"),
    "Lennard-Jones": lambda: LennardJones(epsilon=0.01, sigma=2.0, cutoff=4.0, truncation="force-shifted"),
    "a file of Lennard-Jones": lambda: load_forcefield("Ar.lj"),
    "a sum": lambda: Tersoff("Si.tersoff") + LennardJones(epsilon=0.01, sigma=2.0, cutoff=4.0),
    "Axilrod-Teller": lambda: AxilrodTeller(nu=45.0, cutoff=6.0),
    "all triples": lambda: AxilrodTeller(nu=45.0),
    "products of matrices": lambda: AxilrodTeller(nu=45.0, enumeration="matrix"),
    "ReaxFF": lambda: ReaxFF("H2O.ffield", constants="consistent"),
    "a declared pair": lambda: morse(**MORSE_VALUES),
    "a declared triplet": lambda: angle(**ANGLE_VALUES),
    "a derived pair": lambda: morse_derived(**MORSE_VALUES),
    "a derived triplet": lambda: angle_derived(**ANGLE_VALUES),
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_force_field_pickles(name):
    made = MAKERS[name]()
    found = pickle.loads(pickle.dumps(made))
    species = list(made.elements or ["Si"])[:1]
    assert found.fingerprint(species) == made.fingerprint(species)
    # The same functions, so the same kernels, in the same process.
    for one, other in zip(made.terms, found.terms, strict=True):
        assert one.function is other.function or one.function == other.function
    assert copy.deepcopy(made).terms[0] is made.terms[0]
    assert pickle.loads(pickle.dumps(TaichiMD(made))).forcefield.name == made.name


@pytest.mark.parametrize("name", ["one", "two", "passes"])
def test_a_force_field_of_a_file_pickles_by_the_file(tmp_path, name):
    file = tmp_path / "own.py"
    file.write_text(OWN)
    made = load_forcefield(f"{file}:{name}")
    data = pickle.dumps(made + StillingerWeber("Si.sw"))
    assert pickle.loads(data).terms[0].function is made.terms[0].function
    script = f"import pickle; print(pickle.loads({data!r}).fingerprint(['Si']))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.split()[-1] == (made + StillingerWeber("Si.sw")).fingerprint(["Si"])
    file.write_text(OWN + "\n")
    assert pickle.loads(data).terms[0].function is made.terms[0].function  # of before, as it was pickled
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stderr.strip().splitlines()[-1].endswith("needs it as it was; load it again")


def test_a_function_that_no_name_leads_to_is_refused_in_a_sentence():
    @pair_potential(params={"k": "eV"})
    def local(r, p):
        return p.k * r, p.k

    made = local(k=0.1, cutoff=3.0)
    with pytest.raises(
        SettingsError, match=r"local cannot be pickled, because .* pass file\.py:name"
    ) as caught:
        pickle.dumps(made)
    assert "\n" not in str(caught.value)
    assert copy.deepcopy(made).terms[0] is made.terms[0]
    assert copy.deepcopy(TaichiMD(made)).forcefield is made


def test_a_function_that_is_gone_is_named():
    data = pickle.dumps(morse(**MORSE_VALUES)).replace(b"declared", b"declareX")
    with pytest.raises(ParameterFileError, match=r"needs a function of declareX, which is not there"):
        pickle.loads(data)


def test_a_simulation_is_refused_in_a_sentence():
    simulation = Simulation(bulk("Si", cubic=True), "Si.sw", temperature=10.0)
    with pytest.raises(
        SettingsError, match="cannot be copied or pickled, because its state is on the device"
    ):
        pickle.dumps(simulation)


def energies(calculators: list[TaichiMD]) -> list[float]:
    """Of two silicon atoms; what a process of a pool does."""
    found = []
    for calculator in calculators:
        atoms = Atoms("Si2", [[0, 0, 0], [0, 0.3, 2.3]])
        atoms.calc = calculator
        found.append(atoms.get_potential_energy())
    return found


@pytest.mark.long
def test_a_pool_of_new_processes_has_the_same_energies():
    names = ("a sum", "a derived pair")
    calculators = [TaichiMD(MAKERS[name](), backend="cpu") for name in names]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(energies, calculators).result() == energies(calculators)
