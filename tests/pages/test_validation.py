"""The arithmetic of the validation drivers: a wrong reduction would be evidence for something false."""

import json
import shlex
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from ase.build import bulk
from ase.neighborlist import neighbor_list

from taichimd import Simulation
from taichimd.core.kernel_cache import RUNTIMES
from taichimd.core.units import GPA, PS
from taichimd.enumerate.reproducible_sum import RANGE
from taichimd.estimators.transport import hnemd_conductivity
from taichimd.system.lattices import build_lattice
from taichimd.validation.bits import differing_bits
from taichimd.validation.drift import reduce_energies
from validation import common, gpu_suite
from validation.bits import cross_backend, random_runs
from validation.bits.cross_backend import growth_rate
from validation.decomposition import __main__ as decomposition_parts
from validation.decomposition import accuracy, bits, divergence, growth
from validation.decomposition.states import DECOMPOSITIONS
from validation.physics import heat_by_frequency, kappa_silicon, silica_glass

pytestmark = pytest.mark.first


def test_differing_bits_counts_numbers_and_bits():
    a = np.array([1.0, 2.0, 0.0])
    b = np.array([np.nextafter(1.0, 2.0), 2.0, -0.0])
    assert differing_bits(a, a.copy()) == (0, 0)
    assert differing_bits(a, b) == (2, 2), "one last bit and one sign"


def test_growth_rate_ignores_the_rounding_floor_and_saturation():
    times = np.arange(1, 41) * 0.5
    distance = np.clip(1e-15 * np.exp(2.0 * times), 3e-14, 2.0)
    assert growth_rate(times, distance) == pytest.approx(2.0, rel=1e-6)
    assert growth_rate(times, np.zeros(40)) is None, "identical runs do not grow apart"


def test_runs_are_compared_with_their_own_kind():
    runs = [cross_backend.Run(r, b) for r in ("taichi", "quadrants") for b in ("cpu", "cuda")]
    labels = {(a.label, b.label) for a, b in cross_backend.pairs_of(runs)}
    assert labels == {
        ("taichi-cpu", "taichi-cuda"),
        ("taichi-cpu", "quadrants-cpu"),
        ("taichi-cpu", "quadrants-cuda"),
        ("quadrants-cpu", "quadrants-cuda"),
    }


def test_drift_finds_slope_within_its_error():
    rng = np.random.default_rng(1)
    times = np.linspace(0.0, 0.5, 2001)
    noise = 1e-6 * rng.standard_normal(times.size)
    found = reduce_energies(times, -3.0 + 4e-6 * times + noise)
    assert abs(found["slope_eV_per_atom_ns"] - 4e-6) < 4 * found["slope_error"]
    assert found["slope_error"] < 1e-6
    assert found["rms_eV_per_atom"] == pytest.approx(1e-6, rel=0.1)


def test_result_files_are_json_with_provenance(tmp_path):
    payload = {**common.provenance({"runtime": "none"}), "values": np.arange(3.0)}
    path = common.write_json(tmp_path / "new" / "result.json", payload)
    read = json.loads(path.read_text())
    assert read["values"] == [0.0, 1.0, 2.0]
    assert {"date", "command", "machine", "runtime", "versions"} <= set(read)
    assert '"values": [0.0, 1.0, 2.0]' in path.read_text(), "numbers of a list stay on one line"


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_suite_asks_more_of_the_runtime_that_promises_more(runtime):
    parts = {part.name: part for part in gpu_suite.planned(runtime)}
    assert ("--long" in parts["cross_backend"].arguments) == (runtime == "quadrants")


def test_a_crystal_is_not_taken_for_a_glass():
    crystal = build_lattice("silica", 2)
    frames = crystal.positions + 1e-3 * np.random.default_rng(1).standard_normal((5, len(crystal), 3))
    found = silica_glass.compare(crystal.get_chemical_symbols(), frames, crystal.cell[:])
    rows = {row[0]: row for row in found["comparison"]}
    # Quantity, ours, error, tolerance, then twice: published, whether it agrees.
    assert rows["Si-O, A"][1] == pytest.approx(7.16 * np.sqrt(3) / 8, abs=0.01)
    assert rows["Si-O, A"][4:] == [1.62, False, 1.62, False]
    assert rows["O-Si-O, degrees"][4:] == [None, None, None, None]
    assert rows["Si-O-Si, degrees"][4:] == [142.0, False, 144.0, False]
    assert rows["O around Si"][1:3] == [4.0, 0.0]
    assert rows["O around Si"][6:] == [4.0, True]


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_glasses_are_compared_with_what_their_driver_says_is_published(backend):
    report = common.read_json(common.RESULTS / f"silica_glass_{backend}.json")
    found = {
        name: (row[1], row[2]) for name, row in zip(silica_glass.PUBLISHED, report["comparison"], strict=True)
    }
    again = silica_glass.beside_published(found)
    assert again["comparison"] == report["comparison"]
    assert report["published"] == silica_glass.PUBLISHED


GRAPHENE = kappa_silicon.MATERIALS["graphene"]


def test_sheet_is_graphene_and_as_wide_as_long():
    """Three bonds an atom of a / sqrt(3), 120 degrees apart; a crystal has as many cubic cells each way."""
    sheet = GRAPHENE.cell(GRAPHENE.a).repeat(GRAPHENE.repetitions(GRAPHENE.cells))
    assert (len(sheet), sheet.pbc.tolist()) == (10_032, [True, True, False])
    sides = sheet.cell.lengths()
    assert sides[0] == pytest.approx(sides[1], rel=0.01)
    i, bonds = neighbor_list("iD", sheet, 0.9 * GRAPHENE.a)
    assert (np.bincount(i) == 3).all()
    assert np.linalg.norm(bonds, axis=1) == pytest.approx(GRAPHENE.a / 3**0.5)
    assert np.linalg.norm(bonds.reshape(-1, 3, 3).sum(axis=1), axis=1) == pytest.approx(0.0, abs=1e-9)
    silicon = kappa_silicon.MATERIALS["silicon"]
    assert silicon.repetitions(6) == (6, 6, 6)
    assert (GRAPHENE.axes, silicon.axes) == (2, 3)


def test_pressure_of_a_sheet_is_that_in_its_plane():
    """By the energy of wider and narrower sheets, and the kinetic energy; of a crystal it is the engine's."""
    energies, d = [], 1e-3
    for a in (2.48 - d, 2.48 + d, 2.48):
        sheet = GRAPHENE.cell(a) * (3, 2, 1)
        sheet.pbc = True
        thermo = Simulation(sheet, GRAPHENE.potential, temperature=300.0, backend="cpu").thermo()
        energies.append(thermo.potential)
    area = 6 * 3**0.5
    by_energy = -(energies[1] - energies[0]) / (area * ((2.48 + d) ** 2 - (2.48 - d) ** 2) * 20.0)
    assert by_energy > 1e-3
    expected = by_energy + 2.0 * thermo.kinetic / (3.0 * area * 2.48**2 * 20.0)
    assert kappa_silicon.pressure(thermo, 2) == pytest.approx(expected, rel=1e-4)
    hot = Simulation(bulk("Si", a=5.3, cubic=True), "Si_1989.tersoff", temperature=900.0, backend="cpu")
    assert kappa_silicon.pressure(hot.thermo(), 3) == pytest.approx(hot.thermo().pressure * GPA, rel=1e-12)


def test_cold_sheet_without_tension_has_the_lattice_constant_of_least_energy():
    quick = replace(GRAPHENE, settle=200, samples=10)
    found = kappa_silicon.zero_pressure(quick, 3, 1.0, "cpu")
    constants = GRAPHENE.a * np.linspace(0.998, 1.003, 6)
    energies = [
        Simulation(GRAPHENE.cell(a) * (3, 2, 1), GRAPHENE.potential, backend="cpu").thermo().potential
        for a in constants
    ]
    fit = np.polynomial.Polynomial.fit(constants, energies, 3)
    [least] = [root.real for root in fit.deriv().roots() if constants[0] < root.real < constants[-1]]
    assert found == pytest.approx(least, abs=2e-4)


def test_options_that_are_not_given_are_those_of_the_material():
    names = ("method", "temperature", "time", "equilibrate", "window", "driving_force")

    def options(material, **given):
        return kappa_silicon.with_usual(
            SimpleNamespace(material=material, **{name: given.get(name) for name in names})
        )

    silicon, graphene = options("silicon"), options("graphene", time=50.0)
    assert (silicon.method, silicon.temperature, silicon.driving_force) == ("green-kubo", 500.0, None)
    assert (graphene.method, graphene.temperature, graphene.driving_force) == ("hnemd", 300.0, 1e-5)
    assert (graphene.time, graphene.equilibrate) == (50.0, 20.0)
    assert options("graphene", method="green-kubo").driving_force is None


def test_halves_of_driven_runs_tell_a_current_that_still_grows():
    current = np.zeros((2, 12, 3))
    # Noise that hides the step, so that production begins at once.
    current[:, 2:, 0] = np.array([[1.0] * 5 + [3.0] * 5, [2.0] * 5 + [4.0] * 5])
    current[:, 2:, 0] += [8.0, -8.0, 0.0, 8.0, -8.0, 8.0, -8.0, 0.0, 8.0, -8.0]
    driven = hnemd_conductivity(current, PS, 10.0, 300.0, (1e-5, 0.0, 0.0), skip=2 * PS)
    found = kappa_silicon.course(SimpleNamespace(driven=driven), 2.0)
    first, second = found["halves_W_per_mK"]
    assert second / first == pytest.approx(3.5 / 1.5)
    assert (first + second) / 2 == pytest.approx(driven.kappa.value)
    assert found["running"]["time_ps"][[0, -1]].tolist() == [3.0, 12.0]


def test_bands_of_nemd_find_the_conductivity_of_made_up_spectra_at_infinite_length():
    nu, lengths, free_path = np.arange(0.125, 25.0, 0.25), np.array([100.0, 200.0, 300.0]), 250.0
    kappa = np.exp(-(((nu - 6.0) / 3.0) ** 2))

    def spectrum(value, nm):
        # 1 W/(m K) over 1 nm is 1 GW/(m2 K).
        conductance = value / nm
        return {"value": conductance.tolist(), "error": (0.05 * conductance).tolist()}

    driven = {"frequency_THz": nu, "spectra": [spectrum(kappa, 1.0)]}
    between = {
        "frequency_THz": nu,
        "lengths": [{"nm": nm} for nm in lengths],
        "spectra": [spectrum(kappa / (1.0 + free_path / nm), nm) for nm in lengths],
    }
    found = heat_by_frequency.bands(driven, between)
    assert sum(one["hnemd_W_per_mK"][0] for one in found) == pytest.approx(kappa[nu < 20.0].sum() * 0.25)
    for one in found:
        assert one["nemd_W_per_mK"][0] == pytest.approx(one["hnemd_W_per_mK"][0])
        assert one["free_path_nm"][0] == pytest.approx(free_path)


def test_growth_of_made_up_trajectories_is_found_and_another_rate_is_not_the_same():
    times = np.arange(1, 400) * 0.05
    rng = np.random.default_rng(3)

    def distances(rate):
        wiggle = np.exp(0.3 * rng.standard_normal(times.size))
        return np.clip(1e-15 * np.exp(rate * times) * wiggle, 3e-14, 2.0)

    slow, again, fast = (growth.growth(times, distances(rate)) for rate in (3.0, 3.0, 4.0))
    assert slow["rate_per_ps"] == pytest.approx(3.0, abs=4 * slow["error"])
    assert 0.0 < slow["error"] < 0.2
    assert growth.same(slow, again)["same_within_two_errors"]
    assert not growth.same(slow, fast)["same_within_two_errors"]
    assert growth.growth(times, np.zeros_like(times)) is None, "identical runs do not part"
    assert growth.growth(times, np.full_like(times, 1e-13)) is None, "rounding alone is no growth"


def test_groups_of_runs_are_compared_by_their_scatter():
    rng = np.random.default_rng(4)
    one, other = (5.0 + 0.1 * rng.standard_normal(200) for _ in range(2))
    found = growth.compare_groups(one, other)
    assert found["error"] == pytest.approx(0.1 * np.sqrt(2 / 200), rel=0.15)
    assert found["in_errors"] < 3.5
    assert growth.compare_groups(one, other + 0.1)["in_errors"] > 5
    assert growth.compare_groups(one[:2], other[:2])["by_chance"] == pytest.approx(0.1835, abs=1e-4), (
        "two degrees"
    )
    curves = [1.0 + 0.01 * rng.standard_normal((4, 2000)) for _ in range(2)]
    same = growth.compare_groups(*curves)
    assert same["beyond_two_errors"] == pytest.approx(same["by_chance"], abs=0.03)
    assert growth.compare_groups(curves[0], curves[1] + 0.05)["beyond_two_errors"] > 0.9
    empty = growth.compare_groups(np.zeros((3, 5)), np.zeros((3, 5)))
    assert empty == {"bins": 0}


def test_states_are_compared_number_by_number():
    rng = np.random.default_rng(5)
    arrays = {f"{a}_{d}": rng.standard_normal((4, 3)) for d in DECOMPOSITIONS for a in "xv"}
    other = {key: value.copy() for key, value in arrays.items()}
    other["x_tuple"][1, 2] += 3e-9
    other["v_tuple"][0, 0] = np.nextafter(other["v_tuple"][0, 0], 9.0)
    particle, by_tuple = (
        accuracy.compare(d, arrays[f"x_{d}"], arrays[f"v_{d}"], other[f"x_{d}"], other[f"v_{d}"])
        for d in DECOMPOSITIONS
    )
    assert particle["identical"]
    assert particle["max_dx_A"] == 0.0
    assert particle["below_by"] is None
    assert by_tuple["differing_numbers"] == 2
    assert by_tuple["of"] == 24
    assert by_tuple["max_dx_A"] == pytest.approx(3e-9)
    assert not by_tuple["within_1e-9"]


def test_a_short_comparison_against_its_own_reference_is_identical(tmp_path):
    options = SimpleNamespace(backend="cpu", steps=2, save=tmp_path, against=None)
    fresh = accuracy.measure(1, options)
    assert [one["what"] for one in fresh["comparisons"]] == ["PD and TD, cpu"]
    assert fresh["comparisons"][0]["max_dx_A"] < 1e-12
    options.save, options.against = None, tmp_path
    again = accuracy.measure(1, options)
    assert [one["identical"] for one in again["comparisons"][:2]] == [True, True]
    assert again["tuple"]["sha256"] == fresh["tuple"]["sha256"]


@pytest.mark.long
def test_long_runs_part_and_their_hashes_agree_with_the_reference(tmp_path, monkeypatch):
    for name, value in {"CELLS": 1, "HASHED": (10, 20), "EVERY": 5, "APART": 5}.items():
        monkeypatch.setattr(divergence, name, value)
    options = SimpleNamespace(
        out=tmp_path,
        save=tmp_path,
        against=None,
        append=False,
        backend="cpu",
        steps=20,
        copies=2,
        deadline=np.inf,
    )
    accuracy.measure(1, SimpleNamespace(backend="cpu", steps=1, save=tmp_path, against=None))
    divergence.run(options)
    options.against, options.save = tmp_path, None
    text = divergence.run(options)
    assert "'20': True" in text
    report = json.loads(next(tmp_path.glob("tuple_decomposition_divergence_cpu*.json")).read_text())
    assert report["runs"]["PD 0"]["sha256"]["20"] != report["runs"]["PD 1"]["sha256"]["20"]
    late = report["runs"]["TD 0"]["continued"]
    assert late["largest_difference_of_forces"] < 1e-12
    assert 0.0 < late["max_dx_A"] < 1e-11
    apart = {name: pair["max_dx_A"][-1] for name, pair in report["pairs"].items()}
    assert set(apart) == {"PD 0 and TD 0", "PD 1 and TD 1", "PD 0 and PD 1", "TD 0 and TD 1"}
    assert all(1e-17 < distance < 1e-11 for distance in apart.values())
    assert set(report["rdf"]) == {"O-O", "O-Si", "Si-Si"}
    assert report["averages"]["temperature_K"]["difference"] < 1e-6


def test_one_hash_or_energy_that_differs_is_told(tmp_path, monkeypatch, capsys):
    head = {"machine": {}, "runtime": {"device": "made up", "runtime": "none"}, "commit": "0", "date": "now"}
    one = {"sha256": {"10": "aa", "20": "bb"}, "steps_seen": [5, 20], "potential_eV": [-1.0, -2.0]}
    runs = {name: json.loads(json.dumps(one)) for name in ("PD 0", "TD 0")}
    report = {**head, "runs": runs}

    def compared(name, changed):
        common.write_json(tmp_path / f"tuple_decomposition_divergence_{name}.json", changed)
        monkeypatch.setattr(sys, "argv", ["decomposition", "bits", "--out", str(tmp_path)])
        monkeypatch.setattr("taichimd.core.runtime.start", lambda backend: pytest.fail("needs no runtime"))
        with pytest.raises(SystemExit) as ended:
            decomposition_parts.main()
        assert ended.value.code == 0
        return capsys.readouterr().out

    assert "nothing to compare" in compared("cpu", report)
    assert "DIFFER" not in compared("cuda", report)
    other = json.loads(json.dumps(report))
    other["runs"]["TD 0"]["sha256"]["20"] = "bc"
    other["runs"]["PD 0"]["potential_eV"][0] = np.nextafter(-1.0, 0.0)
    assert compared("cuda", other).count("DIFFER") == 2
    [pair] = json.loads((tmp_path / "tuple_decomposition_bits.json").read_text())["pairs"]
    assert not pair["all_same"]
    assert [row["differing_steps"] for row in pair["comparisons"]] == [[], [5], [20], []]
    del other["runs"]["PD 0"]
    assert not bits.compare(report, {**other, "runs": {}})["all_same"], "nothing was compared"
    assert len(bits.compare(report, other)["not_compared"]) == 2


def test_random_runs_are_drawn_by_number_and_counted():
    first, again, other = (random_runs.run(number, on_gpu=False) for number in (34, 34, 38))
    assert first == again
    assert first["sha256"] != other["sha256"]
    assert (len(first["sha256"]), len(first["calls"])) == (6, 6)
    beyond = {**first, "same_bits": False, "largest_force": 2.0 * RANGE, "exploded": "far away"}
    found = random_runs.summary([{**first, "same_bits": True}, {**other, "same_bits": False}, beyond])
    assert list(found.values()) == [3, 1, 1, 1, 1]


def test_commands_of_results_have_no_folders_of_a_machine(monkeypatch):
    given = ["driver.py", "--out", "/made/up/x.json", "--given", "a=/made/up/b", "validation/results/c.json"]
    monkeypatch.setattr("sys.argv", given)
    assert common.command_line().endswith("--out x.json --given a=b validation/results/c.json")


def test_commands_of_results_can_be_given_to_a_shell(monkeypatch):
    given = ["--cases", "water 6,540", "--runs", "copper ", "--rate", "5e10"]
    monkeypatch.setattr("sys.argv", ["driver.py", *given])
    assert shlex.split(common.command_line())[-len(given) :] == given
