"""`taichimd kappa --method nemd`: layout, what is refused, numbers, batches and restarts."""

import json
from functools import partial

import numpy as np
import pytest
from ase.build import bulk
from ase.constraints import FixAtoms

from taichimd.core.errors import SettingsError
from taichimd.core.units import PS, WATT_PER_METRE_KELVIN
from taichimd.transport.kappa import systems_of, thermal_conductivity
from taichimd.transport.layout import layout_of
from taichimd.transport.nemd import of_length
from taichimd.transport.runs import RunSamples
from taichimd.transport.settings import KappaSettings

NEMD = {"temperature": 40.0, "method": "nemd", "difference": 16.0, "bath_length": 10.6, "backend": "cpu"}
CELL = bulk("Ar", a=5.3, cubic=True)
BAR = CELL.repeat((12, 2, 2))


def test_baths_are_laid_out_at_0_and_at_half_the_cell():
    found = layout_of(BAR, KappaSettings(**NEMD))
    assert len(found.hot) == len(found.cold) == 32  # four planes of 8
    assert found.pieces == ((10.6, 31.8), (42.4, 63.6))
    assert (found.length, found.area) == (pytest.approx(21.2), pytest.approx(10.6**2))
    free = BAR.copy()
    free.pbc = (False, True, True)
    free.set_constraint(
        FixAtoms(np.flatnonzero((free.positions[:, 0] < 2.0) | (free.positions[:, 0] > 60.0)))
    )
    found = layout_of(free, KappaSettings(**NEMD))
    assert len(found.pieces) == 1
    assert found.pieces[0] == pytest.approx((2.65 + 10.6, 58.3 - 10.6))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"bath_length": 20.0},
            "too short for two baths of 20 Å and .* 80 Å or more: .* a bath_length of 15.9 Å or less",
        ),
        (
            {"bath_length": None, "hot": "index 0 1", "cold": "x > 40"},
            "the hot bath has 2 atoms; expected 10",
        ),
        ({"bath_length": None, "hot": "x < 10", "cold": "15 < x < 25"}, "the two paths from hot to cold are"),
        ({"bath_length": None, "hot": "x < 10", "cold": "x < 30"}, "overlap along the axis"),
        ({"interface": (5.0,)}, "interface = 5: expected a place between the baths"),
        ({"thickness": 3.0, "along": "z"}, "along = 'z' is across the sheet"),
        ({"difference": 90.0}, "the cold bath would have -5 K"),
        ({"difference": None}, "expected difference, such as --difference 40"),
        ({"bath_length": None}, "expected either bath_length"),
        ({"hot": "x < 10"}, "only one of hot and cold is given"),
        ({"bath": "power", "difference": None}, "also give power"),
        ({"power": 1.0}, "also give bath = power"),
        ({"lengths": "1nm,1nm"}, "expected lengths that differ"),
        ({"lengths": "1nm,1.01nm"}, "the same number of cells"),
        ({"lengths": "1"}, 'expected lengths with their unit, such as "10nm,20nm,40nm"'),
        ({"driving_force": 1e-4}, "nemd does not use it"),
        ({"method": "green-kubo"}, "green-kubo does not use it"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, message):
    with pytest.raises(SettingsError, match=message):
        systems_of(BAR, KappaSettings(**{**NEMD, **changes}))


def test_a_sheet_without_a_thickness_is_refused():
    sheet = BAR.copy()
    sheet.pbc = (True, True, False)
    with pytest.raises(SettingsError, match="or be a sheet in the plane of x and y with its thickness"):
        layout_of(sheet, KappaSettings(**NEMD))
    found = layout_of(sheet, KappaSettings(**NEMD, thickness=3.0))
    assert found.area == pytest.approx(10.6 * 3.0)


def test_lengths_are_repetitions_between_the_baths():
    found = systems_of(CELL, KappaSettings(**NEMD, lengths="4nm,80A", supercell=(1, 2, 2)))
    assert [len(system) for system, _ in found] == [16 * 19, 16 * 34]
    assert [layout.length for _, layout in found] == pytest.approx([39.75, 79.5])


def samples(hot, cold, profile, place):
    """Samples of one run whose baths give constant powers (eV/ps)."""
    n = 100
    warm = np.full(n, 48.0), np.full(n, 32.0)
    return RunSamples(np.zeros((n, 6)), 40.0, found={
        "interval": np.array([0.01]), "heat_hot": hot * 0.01 * np.arange(n),
        "heat_cold": cold * 0.01 * np.arange(n),
        "temperature_hot": warm[0], "temperature_cold": warm[1], "place": place, "profile": profile,
        "profile_error": np.zeros_like(profile),
    })  # fmt: skip


def test_numbers_of_known_heat_and_a_known_jump():
    settings = KappaSettings(**NEMD, interface=(21.2, 53.0))
    layout = layout_of(BAR, settings)
    place = 0.53 * (np.arange(120) + 0.5)
    x = np.abs((place - 5.3 + 31.8) % 63.6 - 31.8)  # distance from the middle of the hot bath
    profile = 44.0 - 0.2 * x - 4.0 * (x > 15.9)
    runs = [samples(q, -q, profile, place) for q in (0.9, 1.0, 1.1)]
    found = of_length(layout, runs, len(BAR), settings)
    assert found.not_steady == ""
    per = WATT_PER_METRE_KELVIN * PS
    assert found.kappa.value == pytest.approx(0.5 * 21.2 / (10.6**2 * 16.0) / per)
    assert found.conductance.value == pytest.approx(found.kappa.value / 21.2e-10 / 1e6)
    assert found.heat.error == pytest.approx(0.5 * 0.1 / 3**0.5 * 4.3027 / 1.95996, rel=1e-4)
    assert [one.jump.value for one in found.interfaces] == pytest.approx([4.0, 4.0])
    # m^2 K/GW of K angstrom^2/(eV/ps): per W/(m K) is eV/(ps angstrom K).
    expected = 4.0 * 10.6**2 / 0.5 * per * 1e-10 * 1e9
    assert found.interfaces[0].resistance.value == pytest.approx(expected)
    plain = of_length(layout_of(BAR, KappaSettings(**NEMD)), runs, len(BAR), KappaSettings(**NEMD))
    assert plain.interfaces == ()
    unequal = [samples(q, -0.5 * q, profile, place) for q in (0.9, 1.0, 1.1)]
    bad = of_length(layout, unequal, len(BAR), settings)
    assert "the source gives 1 eV/ps and the sink takes 0.5 eV/ps" in bad.not_steady
    assert np.isnan(bad.kappa.value)
    assert found.notes == ()
    # Source and sink give equal heat while the middle warms and cools: each half of the runs tells it.
    for run in runs:
        for name in ("heat_hot", "heat_cold"):
            run.found[name] = run.found[name] * (1.5 - 0.005 * np.arange(100))
    late = of_length(layout, runs, len(BAR), settings)
    assert late.not_steady == ""
    assert "the heat of the baths changes by -0.2" in late.notes[0]
    assert "the flow is not steady yet" in late.notes[0]


@pytest.mark.long
def test_runs_of_all_lengths_in_one_launch_and_after_a_stop_have_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setattr("taichimd.app.loop._MAX_GROWTH", 6)
    more = {"lengths": "22A,30A", "equilibrate": 40.0, "time": 400.0, "timestep": 4.0, "every": 2, "runs": 1}
    settings = KappaSettings(**NEMD, **more, supercell=(1, 2, 2))
    alone = thermal_conductivity(CELL, "Ar.lj", settings, folder=tmp_path / "alone")
    together = KappaSettings(**NEMD, **more, supercell=(1, 2, 2), at_once=2)
    batch = thermal_conductivity(CELL, "Ar.lj", together, folder=tmp_path / "together")
    assert heats(batch) == heats(alone)
    stopped, left = None, 100
    while stopped is None and left:
        asked, left = iter([False] * 5), left - 1
        stop = partial(next, asked, True)
        stopped = thermal_conductivity(CELL, "Ar.lj", settings, folder=tmp_path / "stopped", should_stop=stop)
    assert left < 99
    assert heats(stopped) == heats(alone)
    files = sorted((tmp_path / "alone").glob("*/run-01.npz"))
    assert len(files) == 2
    for file in files:
        for name in ("together", "stopped"):
            with np.load(file) as a, np.load(tmp_path / name / file.parent.name / file.name) as b:
                for key in ("found.heat_hot", "found.profile", "current"):
                    np.testing.assert_array_equal(a[key], b[key])


def heats(found):
    return [one.heat.value for one in found.conduction.lengths]


@pytest.mark.long
def test_the_command_writes_tables_and_says_what_is_wrong(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    BAR.write("bar.extxyz")
    line = (
        "kappa bar.extxyz --potential Ar.lj --temperature 40 --method nemd --bath power --power 0.05 "
        "--bath-length 10.6 --equilibrate 40fs --time 400fs --every 4 --runs 2 --backend cpu --output k"
    )
    code, _, err = call(line)
    assert (code, err) == (0, "")
    report = json.loads((tmp_path / "k/kappa.json").read_text())
    assert report["lengths"][0]["source_eV_per_ps"]["value"] == pytest.approx(0.05, rel=1e-6)
    assert report["lengths"][0]["sink_eV_per_ps"]["value"] == pytest.approx(0.05, rel=1e-6)
    assert (tmp_path / "k/temperature.csv").exists()
    assert (tmp_path / "k/kappa.png").stat().st_size > 5000
