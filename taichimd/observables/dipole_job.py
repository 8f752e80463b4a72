"""One analysis of a series of dipole moments: the infrared spectrum, with another window or other blocks."""

from pathlib import Path

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import AnalysisError, StructureError
from taichimd.core.machine import versions
from taichimd.io.analysis_files import check_free, read_table
from taichimd.io.files import all_or_none, make_folder, writing
from taichimd.io.report import write_report
from taichimd.observables.dipole import Ir, infrared_result
from taichimd.observables.numbers import write_findings
from taichimd.observables.outcome import Outcome
from taichimd.observables.request import OF_BONDS, OF_FRAMES, Request
from taichimd.observables.trajectory import BLOCKS

_COLUMNS = tuple(f"dipole_{axis}_eA" for axis in "xyz")
_START = ("time_ps," + ",".join(_COLUMNS)).encode()
_USED = ("window", "blocks")
"""Settings of frames that a series of dipole moments uses, too."""
_FEWEST = 8


def has_dipoles(path: Path) -> bool:
    """Whether a file is a series of dipole moments, as `--observe dipole` writes it, by its first line."""
    try:
        with open(path, "rb") as file:
            return file.readline(200).startswith(_START)
    except OSError:
        return False


def analyze_dipoles(source: str, request: Request, folder: Path, overwrite: bool) -> Outcome:
    """Infrared spectrum of a file with columns time_ps, dipole_x_eA ... at equal intervals, into a folder."""
    if request.kinds:
        raise AnalysisError(
            f"{source}: {request.kinds[0].upper()} needs positions, and this file has dipole moments; "
            "analyse the trajectory of the run"
        )
    request.refuse(
        (*(name for name in OF_FRAMES if name not in _USED), *OF_BONDS),
        f"has no use for the dipole moments of {source}; leave the option out",
    )
    times, dipoles = _series(source, request)
    blocks = request.blocks or max(1, min(BLOCKS, len(times) // 4))
    interval = float(np.median(np.diff(times)))
    lags = max(1, len(times) // blocks // 2)
    if request.window_ps is not None:
        lags = round(request.window_ps / interval)
        longest = (len(times) - 2) // blocks - 1
        if not 1 <= lags <= longest:
            raise AnalysisError(
                f"window = {request.window_ps:g} ps: expected {interval:g} to {longest * interval:g} ps, for "
                f"{blocks} blocks of {len(times)} samples {interval:g} ps apart"
            )
    result = infrared_result(dipoles, interval, lags, blocks)
    with writing(folder):
        make_folder(folder)
    own = [folder / name for name in Ir.files(request.plot_format)]
    files = [*own, folder / "analysis.json", folder / "analysis.csv"]
    check_free(files, overwrite)
    with all_or_none(files):
        result.write(own, f"{Path(source).name}: {len(times)} samples")
        write_report(folder / "analysis.json", {
            "trajectory": source,
            "samples": len(times),
            "interval_ps": interval,
            "blocks": blocks,
            "settings": request.record(),
            "values": {name: one.entry() for name, one in result.values.items()},
            "notes": result.notes,
            "versions": versions(),
        })  # fmt: skip
        write_findings(folder / "analysis.csv", result.values)
    told = f"{len(times)} samples, {interval:g} ps apart, {blocks} blocks"
    return Outcome([("dipole moments", told), *result.rows], result.notes, files)


def _series(source: str, request: Request) -> tuple[Array, Array]:
    """Times (ps) and dipole moments (samples, 3), e angstrom, without what is left out at the start."""
    try:
        table = read_table(Path(source))
    except (OSError, ValueError) as error:
        raise StructureError(f"dipole moments {source} cannot be read: {error}") from None
    times, dipoles = table["time_ps"], np.column_stack([table[name] for name in _COLUMNS])
    kept = np.arange(len(times)) >= request.skip
    if request.equilibrate_ps is not None:
        kept &= times >= times[0] + request.equilibrate_ps - 1e-9
    times, dipoles = times[kept], dipoles[kept]
    if len(times) < _FEWEST:
        raise AnalysisError(f"{source}: {len(times)} samples are left; expected {_FEWEST} or more")
    steps = np.diff(times)
    if not (np.isfinite(times).all() and np.isfinite(dipoles).all()):
        raise StructureError(f"dipole moments {source}: a field is no finite number")
    if not (steps > 0).all() or np.ptp(steps) > 1e-4 * np.median(steps):
        raise AnalysisError(f"{source}: an infrared spectrum needs samples at equal intervals of time")
    return times, dipoles
