"""Heat flow and profiles: sums of the device against NumPy, conserved rates, restarts, mistakes."""

import json
from pathlib import Path

import numpy as np
import pytest
from argon_job import RUN, enter_folder
from ase.build import bulk
from interrupted import interrupted

from taichimd import (
    Deform,
    Force,
    LennardJones,
    Move,
    Sampler,
    Simulation,
    Source,
    combine,
    testing,
)
from taichimd.core import units
from taichimd.core.errors import SettingsError
from taichimd.io.analysis_files import read_table

SMOOTH = LennardJones(**testing.ARGON, cutoff=6.0, truncation="force-shifted")


def argon(repeat=(6, 2, 2)):
    atoms = bulk("Ar", cubic=True, a=5.4).repeat(repeat)
    atoms.set_masses(np.where(np.arange(len(atoms)) % 3, 39.9, 83.8))
    return testing.with_velocities(testing.rattled(atoms, 0.1, 1), 60.0, 2)


class Host(Sampler):
    """The same sums in NumPy."""

    every = 2

    def __init__(self):
        self.seen = []

    def sample(self, simulation):
        one = simulation.engine.evaluate()
        self.seen.append((simulation.positions(), simulation.velocities(), one.virials))


@pytest.fixture(scope="module")
def sampled():
    atoms = argon()
    atoms.positions[:, 0] += 70.0 * (np.arange(len(atoms)) % 2)
    simulation = Simulation(
        atoms,
        SMOOTH,
        timestep=4.0,
        groups={"hot": "fx < 0.2", "left": "fx < 0.5"},
        acting=[Source(0.3, on="hot"), Source(-0.3, on="0.5 <= fx and fx < 0.7")],
    )
    flow, host = simulation.observe("flow,profile", 38, every=2, profile=("x", 6.0)), Host()
    simulation.run(38, samplers=[flow, host])
    return simulation, flow.found(), host.seen


def test_temperatures_and_powers_of_groups(sampled):
    simulation, found, seen = sampled
    masses, table = simulation.engine.masses, found["flow"].tables[0]
    assert sorted(simulation.groups) == ["group2", "hot", "left"]
    for name, atoms in simulation.groups.items():
        m = masses[atoms, None]
        freedom = 3 * (len(atoms) - m.sum() / masses.sum())
        theirs = [(m * v[atoms] ** 2).sum() / freedom / units.KB for _, v, _ in seen]
        np.testing.assert_allclose(table[f"temperature_{name}_K"], theirs, rtol=1e-6)
    values = found["flow"].values
    assert values["power_hot"].value == pytest.approx(0.3, rel=1e-9)
    assert values["power_group2"].value == pytest.approx(-0.3, rel=1e-9)
    assert values["power_hot"].error == pytest.approx(0.0, abs=1e-9)
    blocks = table["temperature_left_K"].reshape(5, 4).mean(axis=1)
    assert values["temperature_left"].value == pytest.approx(blocks.mean(), rel=1e-9)
    assert values["temperature_left"].error > 0.0


def test_profiles_are_those_of_numpy(sampled):
    simulation, found, seen = sampled
    table, engine = found["profile"].tables[0], simulation.engine
    length, masses = engine.cell[0, 0], engine.masses
    bins = len(table["x_A"])
    assert bins == round(length / 6.0)
    count, kinetic, freedom, stress = (np.zeros(bins) for _ in range(4))
    for x, v, w in seen:
        bin_of = np.floor(x[:, 0] / length % 1.0 * bins).astype(int)
        count += np.bincount(bin_of, minlength=bins)
        kinetic += np.bincount(bin_of, masses * (v**2).sum(axis=1), bins)
        freedom += 3 * np.bincount(bin_of, 1.0 - masses / masses.sum(), bins)
        stress -= np.bincount(bin_of, masses * v[:, 1] ** 2 + w[:, 1, 1], bins)
    n, volume = len(seen), abs(np.linalg.det(engine.cell)) / bins
    np.testing.assert_allclose(table["atoms_per_A3"], count / n / volume, rtol=1e-9)
    np.testing.assert_allclose(table["stress_yy_GPa"], stress / n / volume / units.GPA, rtol=1e-4, atol=1e-7)
    assert table["temperature_K"].mean() == pytest.approx((kinetic / freedom / units.KB).mean(), rel=0.02)
    mean = (table["stress_xx_GPa"] + table["stress_yy_GPa"] + table["stress_zz_GPa"]).mean() / 3
    assert np.isfinite(mean)
    assert (table["error_density_g_cm3"] >= 0.0).all()


def test_what_cannot_be_observed_is_said():
    simulation = Simulation(argon((2, 2, 2)), SMOOTH)
    with pytest.raises(SettingsError, match="there are no groups, baths of groups and drives"):
        simulation.observe("flow", 100)
    for one in (Source(1.0, on=range(9)), Force((0.0, 0.0, 0.01), on=range(9))):
        driven = Simulation(argon((2, 2, 2)), SMOOTH, acting=[one])
        for what in ("heat", "viscosity"):
            with pytest.raises(SettingsError, match="drive the system, and Green-Kubo needs equilibrium"):
                driven.observe(what, 100)
    both = [Source(1.0, on="work_pull"), Force((0.0, 0.0, 0.01), on=range(9, 12), name="pull")]
    simulation = Simulation(argon((2, 2, 2)), SMOOTH, groups={"work_pull": range(9)}, acting=both)
    with pytest.raises(
        SettingsError, match="a bath is called work_pull, which is what the power of the work of"
    ):
        simulation.observe("flow", 100)
    tilted = argon((2, 2, 2))
    tilted.set_cell([[10.8, 0, 0], [3.0, 10.8, 0], [0, 0, 10.8]])
    with pytest.raises(SettingsError, match="planes normal to x need"):
        Simulation(tilted, SMOOTH).observe("profile", 100)
    assert Simulation(tilted, SMOOTH).observe("profile", 100, profile=("z", 5.0)).plan.profile_axis == "z"
    with pytest.raises(SettingsError, match="expected 4,096 at most"):
        simulation.observe("profile", 100, profile=("x", 1e-3))


def test_a_deformed_cell_is_not_in_equilibrium_and_tilts_planes():
    sheared = Simulation(argon((2, 2, 2)), SMOOTH, timestep=4.0, ensemble=combine(None, Deform(xy=1e10)))
    with pytest.raises(SettingsError, match="the cell is deformed, and Green-Kubo needs equilibrium"):
        sheared.observe("viscosity", 100)
    with pytest.raises(SettingsError, match="the shear xy tilts the planes normal to x; choose another"):
        sheared.observe("profile", 100)
    assert sheared.observe("profile", 100, profile=("y", 5.0)).plan.profile_axis == "y"


@pytest.mark.long
def test_work_of_a_deformation_is_observed():
    pulled = Simulation(argon((2, 2, 2)), SMOOTH, timestep=4.0, ensemble=combine(None, Deform(x=1e10)))
    flow = pulled.observe("flow", 40, every=2)
    pulled.run(40, samplers=[flow])
    found = flow.found()["flow"]
    assert found.tables[0]["work_deformation_eV"][-1] == pulled.work() != 0.0
    assert found.values["power_work_deformation"].unit == "eV/ps"


@pytest.mark.long
def test_work_of_drives_is_observed_and_moved_atoms_have_no_temperature():
    simulation = Simulation(
        argon(),
        SMOOTH,
        timestep=4.0,
        groups={"top": "fx >= 0.8", "all_atoms": "all"},
        acting=[Move((30.0, 0.0, 0.0), on="top"), Force((0.0, 0.0, 0.01), on="fx < 0.4", name="pull")],
    )
    flow, host = simulation.observe("flow,profile", 38, every=2, profile=("x", 6.0)), Host()
    simulation.run(38, samplers=[flow, host])
    found = flow.found()
    masses, free = simulation.engine.masses, np.ones(len(argon()), bool)
    free[simulation.groups["top"]] = False
    m = masses[free, None]
    theirs = [(m * v[free] ** 2).sum() / (3 * free.sum()) / units.KB for _, v, _ in host.seen]
    table = found["flow"].tables[0]
    np.testing.assert_allclose(table["temperature_all_atoms_K"], theirs, rtol=1e-6)
    assert np.isnan(table["temperature_top_K"]).all()
    drives = simulation.drives()
    for name in ("top", "pull"):
        assert table[f"work_{name}_eV"][-1] == drives[name]["work"]
        assert found["flow"].values[f"power_work_{name}"].unit == "eV/ps"
    warm = found["profile"].tables[0]["temperature_K"]
    assert np.nanmax(warm) < 4 * np.mean(theirs)


@pytest.mark.long
def test_a_restart_completes_flow_and_profile(call, tmp_path, monkeypatch):
    enter_folder(tmp_path, monkeypatch, a=5.5)
    run = RUN + (
        "--group hot=fx<0.3 --bath hot:langevin,temperature=90 --source 0.5<=fx<0.8:power=-0.1,name=sink "
        "--observe flow,profile --observe-every 5 --profile-axis z --profile-bin 4 "
    )
    assert call(run + "--steps 100 --output straight")[0] == 0
    with interrupted(monkeypatch, 45):
        assert call(run + "--steps 100 --output cut")[0] == 130
    assert call("run --restart cut")[0] == 0
    for name in ("flow.csv", "profile.csv"):
        assert Path("straight", name).read_bytes() == Path("cut", name).read_bytes()
    table = read_table(Path("straight/profile.csv"))
    assert len(table["z_A"]) == 4
    assert Path("straight/flow.png").exists()
    values = json.loads(Path("straight/run.json").read_text())["observed"]["values"]
    assert values["power_sink"]["value"] == pytest.approx(-0.1, rel=1e-9)
    assert {"temperature_hot", "temperature_sink", "power_hot"} <= values.keys()
