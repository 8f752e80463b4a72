"""One analysis: checks, folder, quantities."""

from dataclasses import dataclass
from pathlib import Path

from taichimd.core.errors import AnalysisError, OutputError
from taichimd.io.analysis_files import check_picture
from taichimd.io.files import all_or_none, make_folder, writing
from taichimd.io.frames import read_frames
from taichimd.observables.quantities import angles, msd, rdf, vacf
from taichimd.observables.request import KINDS, Request, Run


@dataclass(frozen=True)
class Outcome:
    """Rows (name, value) for the terminal, notes, and the files that were written."""

    rows: list[tuple[str, str]]
    notes: list[str]
    files: list[Path]


def analyze(
    trajectory: str, request: Request, folder: Path, overwrite: bool = False, skip: int = 0
) -> Outcome:
    """Analyse a trajectory into a folder.

    Args:
        trajectory: file.
        request: what to compute.
        folder: for the results.
        overwrite: whether earlier results there may be replaced.
        skip: frames at the start to leave out.

    Raises:
        StructureError: the file cannot be used.
        AnalysisError: it lacks what was asked for: frames, velocities, times, a periodic cell, length.
        OutputError: results are in the way, or cannot be written.
        SettingsError: an unknown format of pictures.
    """
    check_picture(request.plot_format)
    frames = read_frames(trajectory, skip)
    run = Run(frames, request)
    reasons = {kind: reason for kind in KINDS if (reason := run.missing(kind))}
    for kind in request.kinds:
        if kind in reasons:
            raise AnalysisError(f"{trajectory}: {kind.upper()} {reasons[kind]}")
    kinds = request.kinds or tuple(kind for kind in KINDS if kind not in reasons)
    if not kinds:
        raise AnalysisError(f"{trajectory}: nothing to compute: RDF {reasons['rdf']}; MSD {reasons['msd']}")
    with writing(folder):
        make_folder(folder)
    results = {kind: [folder / f"{kind}.csv", folder / f"{kind}.{request.plot_format}"] for kind in kinds}
    for kind, second in (("vacf", "dos.csv"), ("angles", "coordination.csv")):
        if kind in kinds:
            results[kind].insert(1, folder / second)
    files = [file for kind in kinds for file in results[kind]]
    if not overwrite and any(file.exists() for file in files):
        raise OutputError(f"{folder} holds an earlier analysis; choose another --output or give --overwrite")
    notes = [] if request.kinds else [f"{kind.upper()} left out: it {why}" for kind, why in reasons.items()]
    title = f"{Path(trajectory).name}: {len(run.frames.positions)} frames, {len(frames.symbols)} atoms"
    rows = [("trajectory", f"{title.split(': ', 1)[1]}{run.length()}")]
    with all_or_none(files):
        for kind in kinds:
            rows += {"rdf": rdf, "angles": angles, "msd": msd, "vacf": vacf}[kind](run, results[kind], title)
    if run.blocks == 1:
        why = (
            "take a longer run, or frames more often" if request.blocks is None else "take two blocks or more"
        )
        notes.append(f"too few {'frames' if request.blocks is None else 'blocks'} for errors: {why}")
    return Outcome(rows, run.notes + notes, files)
