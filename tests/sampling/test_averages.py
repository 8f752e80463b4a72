"""Averages of a chain: which sweeps they are over, their errors, and what is said where there is none."""

from types import SimpleNamespace

import numpy as np
from processes import ornstein_uhlenbeck

from taichimd.sampling.averages import conditions_since, production_of, rhythm
from taichimd.sampling.rates import Rate

CHAIN = SimpleNamespace(moves=Rate(0.1, 100, 40), volume_moves=Rate(0.1))


def table(tmp_path, energies, every=1, pressures=None):
    """Rows after sweep 0, which is there too."""
    rows = np.arange(len(energies) + 1) * every
    energies = np.concatenate([[-9.0], energies])
    pressures = np.zeros(len(rows)) if pressures is None else pressures
    lines = [
        f"{s},{e!r},{p!r},100.0" for s, e, p in zip(rows, energies.tolist(), pressures.tolist(), strict=True)
    ]
    file = tmp_path / "thermo.csv"
    file.write_text("sweep,potential_eV,pressure_GPa,volume_A3\n" + "\n".join(lines) + "\n")
    return file


def noise(n, tau=2.0, seed=1):
    return ornstein_uhlenbeck(np.random.default_rng(seed), (n, 1), tau)[:, 0]


def found(file, *, equilibration=0, since=0, every=1, chain=CHAIN):
    return production_of(file, equilibration, since, every, chain)


def test_equilibration_that_the_user_does_not_name_is_left_out(tmp_path):
    decay = 20.0 * np.exp(-np.arange(1000) / 40.0)
    one = found(table(tmp_path, noise(1000) + decay))
    mean = one.averages["potential_eV"]
    assert 40 < one.first < 500
    assert one.last == 1000
    assert abs(mean.value) < 3 * mean.error
    assert one.method == "start detected from energy, pressure and volume: MSER (White 1997)"
    # The pressure decides, too, and all means are over the same rows.
    same = found(table(tmp_path, noise(1000), pressures=np.concatenate([[0.0], noise(1000, seed=2) + decay])))
    assert 40 < same.first < 500
    assert same.averages["potential_eV"].samples == same.averages["pressure_GPa"].samples == same.rows


def test_nothing_before_the_end_of_an_equilibration_counts(tmp_path):
    file = table(tmp_path, noise(400))
    one = found(file, equilibration=150)
    assert one.first > 150
    assert one.method.endswith("after the equilibration, sweep 150")
    assert found(file, equilibration=150, since=200).method.endswith(
        "after the last change of conditions, sweep 200"
    )
    none = found(file, equilibration=400)
    assert (none.first, none.rows, none.averages) == (None, 0, {})


def test_few_rows_have_a_sentence_in_place_of_an_error(tmp_path):
    record = found(table(tmp_path, noise(12, 20.0))).record()
    mean = record["averages"]["potential_eV"]
    assert mean["error"] is None
    assert mean["note"].startswith("no error: ")
    assert mean["note"].endswith("independent ones, fewer than 10")
    assert mean["independent_samples"] < 10


def test_a_slow_climb_has_no_error_or_a_note(tmp_path):
    """As of moves of all atoms: energies that climb over the whole run."""
    climb = found(table(tmp_path, noise(400) + np.linspace(0.0, 30.0, 400))).averages["potential_eV"]
    assert climb.error is None
    slight = [found(table(tmp_path, noise(2000, 0.5, k) + np.linspace(0.0, 0.6, 2000))) for k in range(6)]
    notes = [one.averages["potential_eV"].note for one in slight]
    assert sum("differs from the mean of the first half by" in note for note in notes) >= 4
    still = [found(table(tmp_path, noise(2000, 0.5, k))).averages["potential_eV"] for k in range(6)]
    assert [one.note for one in still] == [""] * 6


def test_a_constant_that_is_held_has_no_scatter(tmp_path):
    volume = found(table(tmp_path, noise(300))).averages["volume_A3"]
    assert (volume.value, volume.error, volume.note) == (100.0, 0.0, "")


def test_a_chain_that_does_not_move_has_no_error(tmp_path):
    stuck = SimpleNamespace(moves=Rate(5.0, 80, 0), volume_moves=Rate(0.9, 20, 0))
    averages = found(table(tmp_path, np.full(80, -7.2)), chain=stuck).averages
    assert averages["potential_eV"].error is None
    assert "none of 80 trial moves was accepted; take a smaller --move" in averages["potential_eV"].note
    assert "none of 20 trial moves was accepted; take a smaller --volume-move" in averages["volume_A3"].note


def segment(first, **changes):
    settings = {"temperature": 80.0, "pressure": 0.0, "ensemble": "nvt", "every": 10, **changes}
    return {"first_step": first, "settings": settings}


def test_a_restart_that_changes_nothing_continues_the_mean():
    assert conditions_since([segment(0)]) == 0
    assert conditions_since([segment(0), segment(100), segment(200, every=4)]) == 0
    assert (
        conditions_since([segment(0), segment(100, temperature=90.0), segment(200, temperature=90.0)]) == 100
    )
    assert conditions_since([segment(0), segment(100, temperature=90.0), segment(200)]) == 200
    assert conditions_since([segment(0), segment(50, ensemble="npt", pressure=0.1)]) == 50


def test_rows_of_several_rhythms_are_taken_at_equal_intervals(tmp_path):
    assert rhythm([segment(0), segment(100, every=4)]) == 20
    one = found(table(tmp_path, noise(400)), every=20)
    assert (one.rows, one.every, one.last) == ((400 - one.first) // 20 + 1, 20, 400)
