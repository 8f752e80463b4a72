"""Valid files that the fuzz driver changes, each with what taichimd does first with it."""

import io
import json
import os
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ase.io
import numpy as np
from ase.build import bulk
from ase.calculators.singlepoint import SinglePointCalculator

from taichimd.app.driver import ensemble_of
from taichimd.app.job import prepare_job
from taichimd.app.output_folder import cut_trajectory
from taichimd.app.run_set import FILE, RunSet, spread
from taichimd.cli.app import main as command_line
from taichimd.core.errors import TaichimdError
from taichimd.forcefields.load import load_forcefield
from taichimd.io.checkpoint import Checkpoint, write_checkpoint
from taichimd.io.frames import read_frames
from taichimd.io.structures import read_structure
from taichimd.io.thermo import COLUMNS, offset_of_row, read_thermo
from taichimd.observables.planning import make_plan, saved_plan
from taichimd.sampling.prepare import prepare_mc
from taichimd.settings.run import RunSettings
from taichimd.transport.runs import RunUnderWay, read_run, write_run
from validation.common import ROOT
from validation.everyday import mutate

PARAMETERS = ("Si.sw", "Si.tersoff", "Ar.lj", "Ar.atm", "SiC_2007.vashishta", "H2O.ffield")
"""A shipped file of each format."""


@dataclass(frozen=True)
class Base:
    """A valid file."""

    name: str  # of the file
    content: bytes  # valid
    use: Callable[[Path], Any]  # called with its path
    changes: list[mutate.Change]  # that suit it


def bases(folder: Path) -> list[Base]:
    """All bases; the folder gets the files that they name, and becomes the present one."""
    folder.mkdir(exist_ok=True)
    os.chdir(folder)
    silicon = bulk("Si", cubic=True)
    silicon.write("si.xyz", format="extxyz")
    return [
        *_checkpoints(folder, silicon),
        *_jobs(),
        *_parameters(),
        *_structures(silicon),
        *_records(folder, silicon),
    ]


def _checkpoint(atoms: Any, **changes: Any) -> Checkpoint:
    n = len(atoms)
    record = load_forcefield("Si.sw").describe(atoms.get_chemical_symbols())
    settings = RunSettings.of({"potential": "Si.sw", "timestep": 1.0, "every": 10}).record()
    own = {
        "step": 20, "positions": atoms.positions, "velocities": np.full((n, 3), 0.001),
        "forces": np.zeros((n, 3)), "cell": atoms.cell.array, "pbc": atoms.pbc,
        "numbers": atoms.numbers.astype(np.int64),
        "masses": atoms.get_masses(), "settings": settings, "potential_hash": record["fingerprint"],
        "clock": {"time_fs": 0.0, "step": 0}, "last_step": 100, "first_total": -34.0,
        "versions": {"taichimd": "0", "runtime": "taichi"}, "potential": record,
    }  # fmt: skip
    return Checkpoint(**own | changes)


def _checkpoints(folder: Path, atoms: Any) -> list[Base]:
    """Of constant energy, of a thermostat, a barostat and a ramp, of what is observed, and of Monte Carlo."""
    plain = _checkpoint(atoms)

    def settings(**more: Any) -> dict[str, Any]:
        return RunSettings.of({**plain.settings, **more}).record()

    moves = {"size": 0.1, "tried": 10, "accepted": 4}
    chain = {"kind": "metropolis", "energy": -34.0, "homogeneous": None}
    chain |= {"moves": moves, "volume_moves": moves, "exchanges": moves}
    plan = make_plan(("rdf", "msd"), 0, 100, 1.0, 10)
    observed = {
        "plan": np.array(json.dumps(plan.to_json())), "taken": np.array([3, 20]), "moving": np.array(False),
        "volumes": np.full(3, 160.0),
    }  # fmt: skip
    bath = {"ensemble": "nvt-bussi", "identity": ["nvt-bussi"], "bath": [0.0] * 5}
    ramp = settings(ensemble="nvt-bussi", final_temperature=400.0)
    monte_carlo = {"potential": "Si.sw", "temperature": 300.0, "moves": "all"}
    made = {
        "nve.npz": (plain, _restart),
        "bussi.npz": (replace(plain, settings=ramp, bath=bath, ramp=[0, 100]), _restart),
        "observed.npz": (
            replace(plain, settings=settings(observe="rdf,msd", steps=100), observed=observed),
            _restart,
        ),
        "fixed.npz": (replace(plain, fixed=np.arange(8) < 2), _restart),
        "mc.npz": (replace(plain, settings=monte_carlo, bath=chain), _chain),
    }
    found = []
    for name, (checkpoint, use) in made.items():
        write_checkpoint(folder / name, checkpoint)
        changes = [*mutate.BINARY, mutate.npz_entry, mutate.npz_entry, mutate.npz_entry]
        found.append(Base(name, (folder / name).read_bytes(), use, changes))
    return found


def _restart(path: Path) -> None:
    """As `taichimd run --restart`, until there is an engine; and as a structure."""
    with suppress(TaichimdError):
        read_structure(path)
    job = prepare_job({"restart": str(path), "steps": 80, "output": "elsewhere"})
    ensemble_of(job)
    assert job.checkpoint is not None
    saved_plan(job.checkpoint.observed)


def _chain(path: Path) -> None:
    prepare_mc({"restart": str(path), "sweeps": 5})


JOB = b"""# a job
[system]
structure = "si.xyz"
velocities = "auto"

[potential]
file = ["Si.sw"]

[ensemble]
name = "npt-scr"
temperature = 300.0
final_temperature = 400.0
coupling_time = "100fs"
control = "orthorhombic"
pressure = [0.0, 0.0, 1.0]
seed = 3

[run]
time = "100fs"
timestep = 1.0

[observe]
quantities = "rdf"

[output]
folder = "out"
every = 10
frames = "traj"
"""


def _jobs() -> list[Base]:
    return [Base("job.toml", JOB, lambda path: ensemble_of(prepare_job({}, path)), mutate.TEXT)]


def _parameters() -> list[Base]:
    def use(path: Path) -> None:
        found = load_forcefield(str(path))
        found.describe((found.elements or ("Si",))[:1])
        found.bind((found.elements or ("Si",))[:1])

    folder = ROOT / "potentials"
    return [Base(f"own_{name}", (folder / name).read_bytes(), use, mutate.TEXT) for name in PARAMETERS]


def _structures(atoms: Any) -> list[Base]:
    """Formats that people use most, written by ASE."""
    moving = atoms.copy()
    moving.set_velocities(np.full((8, 3), 0.01))
    kinds = {
        "s.extxyz": {"format": "extxyz"}, "s.cif": {"format": "cif"}, "POSCAR": {"format": "vasp"},
        "s.pdb": {"format": "proteindatabank"}, "s.data": {"format": "lammps-data", "masses": True},
        "s.traj": {"format": "traj"}, "s.json": {"format": "json"}, "s.cfg": {"format": "cfg"},
    }  # fmt: skip
    found = []
    for name, options in kinds.items():
        ase.io.write(name, moving, **options)
        changes = mutate.BINARY if name.endswith("traj") else mutate.TEXT
        found.append(Base(name, Path(name).read_bytes(), read_structure, changes))
    return found


def _records(folder: Path, atoms: Any) -> list[Base]:
    """What a restart, `plot`, `analyze` and `kappa` read back from folders."""
    flags = {"structure": "si.xyz", "potential": "Si.sw", "steps": 5}
    (folder / "batch").mkdir(exist_ok=True)
    RunSet(folder / "batch", spread(flags, {"seed": [1, 2]}, None)).write()
    rows = "".join(f"{step},{','.join('1.5' for _ in COLUMNS[1:])}\n" for step in (0, 10, 20))
    table = (",".join(COLUMNS) + "\n" + rows).encode()
    (folder / "run").mkdir(exist_ok=True)
    report = {
        "formula": "Si8", "n_atoms": 8, "potential": {"name": "Si.sw"}, "settings": {"ensemble": "nve"},
        "segments": [
            {"first_step": 0, "first_ps": 0.0, "settings": {"ensemble": "nvt-bussi", "temperature": 300.0}},
            {"first_step": 10, "first_ps": 0.01, "settings": {"ensemble": "nve"}},
        ],
    }  # fmt: skip
    text = io.StringIO()
    for step in (0, 10):
        one = atoms.copy()
        one.info |= {"step": step, "time_ps": step / 1000}
        one.calc = SinglePointCalculator(one, energy=-1.0, forces=np.zeros((8, 3)))
        ase.io.write(text, one, format="extxyz", append=True)
    frames = text.getvalue().encode()
    n = np.zeros((8, 3))
    under_way = RunUnderWay("green-kubo", 5, n, n, n, {}, n, np.zeros((3, 7)))
    write_run(folder / "run-01.part.npz", {"seed": 1}, {"terms": []}, under_way)

    def of_batch(path: Path) -> None:
        (folder / "batch" / FILE).write_bytes(path.read_bytes())
        there = RunSet.read(folder / "batch")
        for one in there.runs:
            there.job(one, {})

    def of_run(name: str) -> Callable[[Path], None]:
        def use(path: Path) -> None:
            (folder / "run" / "run.json").write_text(json.dumps(report))
            (folder / "run" / "thermo.csv").write_bytes(table)
            (folder / "run" / name).write_bytes(path.read_bytes())
            _command(["plot", "run"])

        return use

    def of_table(path: Path) -> None:
        read_thermo(path)
        offset_of_row(path, 10)

    def of_frames(path: Path) -> None:
        with suppress(TaichimdError):
            cut_trajectory(path, 10)
        read_frames(path)

    of_json = [mutate.some_bytes, *[mutate.json_value] * 3]
    return [
        Base("batch.json", (folder / "batch" / FILE).read_bytes(), of_batch, of_json),
        Base("run.json", json.dumps(report).encode(), of_run("run.json"), of_json),
        Base("thermo.csv", table, of_table, mutate.TEXT),
        Base("frames.extxyz", frames, of_frames, mutate.TEXT),
        Base("frames.traj", Path("s.traj").read_bytes(), of_frames, mutate.BINARY),
        Base(
            "kappa.npz", (folder / "run-01.part.npz").read_bytes(),
            lambda path: read_run(RunUnderWay, path, {"seed": 1}, {"terms": []}),
            [*mutate.BINARY, mutate.npz_entry, mutate.npz_entry],
        ),
    ]  # fmt: skip


def _command(words: list[str]) -> None:
    """A command in this process; its exit code 2 with one line is a `TaichimdError`."""
    try:
        said = io.StringIO()
        with redirect_stdout(said), redirect_stderr(said):
            command_line(words)
    except SystemExit as end:
        if end.code:
            raise TaichimdError(said.getvalue().strip()) from None
