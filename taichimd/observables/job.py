"""One analysis: checks, folder, quantities."""

from dataclasses import asdict
from pathlib import Path

from taichimd.core.errors import AnalysisError
from taichimd.core.machine import versions
from taichimd.core.printable import counted
from taichimd.io.analysis_files import check_free
from taichimd.io.files import all_or_none, make_folder, writing
from taichimd.io.frames import read_frames
from taichimd.io.lammps_bonds import bond_file_kind
from taichimd.io.report import write_report
from taichimd.observables.bond_job import analyze_bonds
from taichimd.observables.dipole_job import analyze_dipoles, has_dipoles
from taichimd.observables.numbers import write_findings
from taichimd.observables.observable import Values
from taichimd.observables.outcome import Outcome
from taichimd.observables.registry import OF_TRAJECTORIES
from taichimd.observables.request import OF_BONDS, Request
from taichimd.observables.trajectory import Trajectory


def analyze(trajectory: str, request: Request, folder: Path, overwrite: bool = False) -> Outcome:
    """Analyse a file of frames, bonds (`io.lammps_bonds`), species or dipole moments into a folder.

    StructureError: the file cannot be used. AnalysisError: it lacks what was asked for: frames, velocities,
    times, a periodic cell, length. OutputError: results are in the way, or cannot be written.
    """
    bonded = bond_file_kind(Path(trajectory))
    if bonded is not None:
        return analyze_bonds(trajectory, bonded, request, folder, overwrite)
    if has_dipoles(Path(trajectory)):
        return analyze_dipoles(trajectory, request, folder, overwrite)
    request.refuse(
        OF_BONDS,
        f"needs a file of bonds, and {trajectory} has frames; leave the option out, or analyse the bonds.csv "
        "of the run (--observe bonds)",
    )
    frames = read_frames(trajectory, request.skip, request.timestep_ps, request.input_units, request.elements)
    run = Trajectory(frames, request)
    reasons = {name: reason for name, kind in OF_TRAJECTORIES.items() if (reason := kind.missing(run))}
    for name in request.kinds:
        if name in reasons:
            raise AnalysisError(f"{trajectory}: {name.upper()} {reasons[name]}")
    names = request.kinds or [
        n for n, kind in OF_TRAJECTORIES.items() if kind.by_default and n not in reasons
    ]
    if not names:
        first: dict[str, str] = {}
        for name, reason in reasons.items():
            first.setdefault(reason, name.upper())
        why = "; ".join(f"{name} {reason}" for reason, name in first.items())
        raise AnalysisError(f"{trajectory}: nothing to compute: {why}")
    left_out = (
        [] if request.kinds else [f"{name.upper()} left out: it {why}" for name, why in reasons.items()]
    )
    with writing(folder):
        make_folder(folder)
    kinds = [OF_TRAJECTORIES[name] for name in names]
    results = [(kind, [folder / file for file in kind.files(request.plot_format)]) for kind in kinds]
    records = [folder / "analysis.json", folder / "analysis.csv"]
    files = [*(file for _, own in results for file in own), *records]
    check_free(files, overwrite)
    size = f"{counted(len(run.frames.positions), 'frame')}, {len(run.frames.symbols)} atoms"
    title = f"{Path(trajectory).name}: {size}"
    rows = [("trajectory", f"{size}{run.length()}"), ("production", str(run.production))]
    if run.blocks == 1:
        why = (
            "take a longer run, or frames more often" if request.blocks is None else "take two blocks or more"
        )
        left_out.append(f"too few {'frames' if request.blocks is None else 'blocks'} for errors: {why}")
    found, summaries = Values(), {}
    with all_or_none(files):
        for kind, own in results:
            result = kind.of_trajectory(run)
            result.write(own, title)
            rows += result.rows
            run.notes += result.notes
            found |= result.values
            summaries[kind.name] = result.summary()
        notes = run.notes + left_out
        write_report(records[0], {
            "trajectory": trajectory,
            "frames": len(run.frames.positions),
            "n_atoms": len(run.frames.symbols),
            "interval_ps": run.interval,
            "production": asdict(run.production),
            "settings": request.record(),
            "values": {name: one.entry() for name, one in found.items()},
            "observables": summaries,
            "notes": notes,
            "versions": versions(),
        })  # fmt: skip
        write_findings(records[1], found)
    return Outcome(rows, notes, files)
