"""Folders as `taichimd run` leaves them, written without a run: of two atoms, with a chosen end."""

import json

import numpy as np

SEGMENT = {
    "first_step": 0, "last_step": 400, "first_ps": 0.0, "simulated_ps": 0.4, "exit_reason": "finished",
    "velocities": "Maxwell-Boltzmann",
}  # fmt: skip


PAPER = {
    "citation": "F. H. Stillinger and T. A. Weber, Phys. Rev. B 31, 5262 (1985)",
    "doi": "10.1103/PhysRevB.31.5262",
}


def settings_of(**changes):
    """A record of settings of a run."""
    from taichimd.settings.run import RunSettings

    given = {"structure": "two.extxyz", "potential": "Si.sw", "steps": 400, "output": "run"}
    return {**RunSettings().record(), **given, **changes}


def record(exit_reason="finished", **settings):
    """A run.json."""
    own = settings_of(**settings)
    potential = {
        "name": "Si.sw", "cutoff_A": 3.77,
        "terms": [{"kind": "three-body", "name": "Si.sw", **PAPER}],
    }  # fmt: skip
    return {
        "exit_reason": exit_reason, "settings": own, "n_atoms": 2, "n_fixed": 0, "formula": "Si2",
        "potential": potential, "first_step": 0, "last_step": 400, "planned_last_step": 400,
        "conserved_from_step": 0, "seed": 1, "velocities": "Maxwell-Boltzmann",
        "versions": {"taichimd": "0.1.0"},
        "started": "2026-01-01T00:00:00Z", "notes": [], "segments": [{**SEGMENT, "settings": own}],
    }  # fmt: skip


def table(rows):
    """A thermo.csv of rows 10 steps of 1 fs apart; the temperature rises by 1 K a row from 300 K."""
    from taichimd.io.thermo import COLUMNS

    lines = [",".join(COLUMNS)]
    for k in range(rows):
        energies = f"{-8.0 - 0.001 * (k % 3)},0.07,-7.93,{-7.93 + 1e-7 * (k % 5)}"
        lines.append(f"{10 * k},{0.01 * k!r},{300.0 + k},{energies},0.1,40.0")
    return "\n".join(lines) + "\n"


def frames(count):
    """A trajectory of two atoms; atom 1 moves by 0.01 Å a frame along x."""
    lattice = 'Lattice="10 0 0 0 10 0 0 0 10" Properties=species:S:1:pos:R:3 pbc="T T T"'
    return "".join(
        f"2\n{lattice} step={10 * k} time_ps={0.01 * k!r} energy=-8.0\n"
        f"Si 1.0 1.0 1.0\nSi {3.0 + 0.01 * k!r} 1.0 12.0\n"
        for k in range(count)
    )


def write_run(folder, *, rows=41, images=5, cut=0, report=None):
    """Write such a folder; `cut` characters are missing at the end of table and trajectory."""
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(report or record()))
    text, moving = table(rows), frames(images)
    (folder / "thermo.csv").write_text(text[: len(text) - cut])
    (folder / "trajectory.extxyz").write_text(moving[: len(moving) - cut])
    return folder


def checkpoint_of(folder, n_atoms, acting=(), fixed=None, drives=()):
    """Write a checkpoint.npz of so many silicon atoms."""
    from taichimd.io.checkpoint import Checkpoint, write_checkpoint

    zero = np.zeros((n_atoms, 3))
    write_checkpoint(
        folder / "checkpoint.npz",
        Checkpoint(
            step=0, positions=zero + np.arange(n_atoms)[:, None], velocities=zero, forces=zero,
            cell=np.eye(3) * 50, pbc=np.ones(3, bool), numbers=np.full(n_atoms, 14),
            masses=np.full(n_atoms, 28.0), settings={}, potential_hash="v2:0",
            clock={"time_fs": 0.0, "step": 0}, last_step=0, first_total=0.0,
            bath={
                key: [one.record() for one in some]
                for key, some in (("acting", acting), ("drives", drives)) if some
            }, fixed=fixed,
        ),
    )  # fmt: skip
