"""One analysis of a file of bonds, or of species: reaction events, rate constants, lifetimes."""

from collections import Counter
from pathlib import Path

import numpy as np

from taichimd.core.arrays import Array
from taichimd.core.errors import AnalysisError
from taichimd.core.machine import versions
from taichimd.estimators.bond_history import BondHistory, BondRule
from taichimd.io.analysis_files import check_free, curves, draw, write_table
from taichimd.io.elements import is_element
from taichimd.io.files import all_or_none, make_folder, writing
from taichimd.io.lammps_bonds import BondReader, Kind, read_species
from taichimd.io.report import write_report
from taichimd.observables.numbers import write_findings
from taichimd.observables.observable import Rows, Values
from taichimd.observables.outcome import Outcome
from taichimd.observables.reaction_result import MAX_SHOWN, NETWORK, TABLES, ReactionResult, reactions_of
from taichimd.observables.request import OF_BONDS, OF_FRAMES, Request


def analyze_bonds(source: str, kind: Kind, request: Request, folder: Path, overwrite: bool) -> Outcome:
    """Analyse a file of bonds or of species into a folder."""
    if request.kinds:
        raise AnalysisError(
            f"{source}: {request.kinds[0].upper()} needs positions, and this file has only "
            f"{'species' if kind == 'species' else 'bonds'}; analyse the trajectory of the run"
        )
    request.refuse(
        OF_FRAMES,
        f"needs positions, and {source} has none; leave the option out, or analyse the trajectory of the run",
    )
    if kind == "species":
        request.refuse(
            OF_BONDS,
            f"needs a file of bonds, and {source} has species; leave the option out, or write bonds with fix "
            "reaxff/bonds",
        )
    rule = BondRule(request.bond_formed, request.bond_broken, request.bond_lifetime / 1000.0)
    with writing(folder):
        make_folder(folder)
    picture = f"species.{request.plot_format}"
    before = () if kind == "species" else (*(f"{table}.csv" for table in TABLES),)
    behind = () if kind == "species" else (f"{NETWORK}.{request.plot_format}",)
    own = [folder / name for name in (*before, "species.csv", picture, *behind)]
    files = [*own, folder / "analysis.json", folder / "analysis.csv"]
    check_free(files, overwrite)
    title = f"{Path(source).name}: species"
    rows: Rows
    values = Values()
    with all_or_none(files):
        if kind == "species":
            times, counts, notes = _species(source, request)
            rows = [("species", f"{len(times)} samples of {len(counts)} species")]
            write_table(own[0], {"time_ps": times, **counts})
            shown = {name: (counts[name], np.zeros(len(times))) for name in list(counts)[:MAX_SHOWN]}
            panel = lambda axis: curves(axis, times, shown, "time (ps)", "molecules")  # noqa: E731
            draw(own[1], title, [panel])
        else:
            result, read, notes = _bonds(source, kind, request, rule)
            rows, values = [("bonds", read), *result.rows], result.values
            result.write(own, title)
        write_report(folder / "analysis.json", {
            "trajectory": source,
            "settings": request.record(),
            "bond_rule": {"formed": rule.formed, "broken": rule.broken, "lifetime_ps": rule.lifetime},
            "values": {name: one.entry() for name, one in values.items()},
            "notes": notes,
            "versions": versions(),
        })  # fmt: skip
        write_findings(folder / "analysis.csv", values)
    return Outcome(rows, notes, files)


def _bonds(
    source: str, kind: Kind, request: Request, rule: BondRule
) -> tuple[ReactionResult, str, list[str]]:
    """Reactions, what was read, and notes."""
    reader = BondReader(Path(source), kind)
    history: BondHistory | None = None
    labels: list[int] = []
    symbols: list[str] = []
    begin = 0.0
    for number, frame in enumerate(reader.frames()):
        if number < request.skip:
            continue
        time = frame.step * _timestep(source, request) if frame.time is None else frame.time
        if not symbols:
            labels, begin = frame.labels.tolist(), time
            symbols = _symbols(source, frame.kinds.tolist(), kind, request)
        if request.equilibrate_ps is not None and time < begin + request.equilibrate_ps - 1e-9:
            continue
        if history is None:
            history = BondHistory(len(symbols), rule)
        history.add(time, frame.i, frame.j, frame.order)
    if history is None or len(history.times) < 2:
        raise AnalysisError(f"{source}: reactions need two frames or more; leave fewer out, or write more")
    notes = list(reader.notes)
    if reader.cutoff is not None and reader.cutoff > rule.broken:
        notes.append(
            f"the file lists bond orders above {reader.cutoff:g} only, so this is the lower threshold, not "
            f"bond_broken = {rule.broken:g}"
        )
    result = reactions_of(history, symbols, labels, request.volume)
    notes += result.notes
    if result.lacks_volume:
        notes.append("rate constants of concentrations need the volume of the cell: give --volume")
    length = result.found.end - result.found.start
    return result, f"{len(history.times)} frames, {len(symbols)} atoms, {length:g} ps", notes


def _symbols(source: str, kinds: list[str], kind: Kind, request: Request) -> list[str]:
    """Elements of the atoms, from the file or from `elements` by type."""
    if kind == "table":
        symbols = kinds
    elif request.elements is None:
        raise AnalysisError(
            f"{source} has types of atoms instead of elements; name the elements of types 1, 2, ...: "
            "--elements H,O"
        )
    else:
        most = max(int(one) if one.isdecimal() else 0 for one in kinds)
        if most > len(request.elements) or min(int(one) if one.isdecimal() else 0 for one in kinds) < 1:
            raise AnalysisError(
                f"{source} has atoms of type {most}, but elements names {len(request.elements)}; name one "
                "for each type, from type 1 on"
            )
        symbols = [request.elements[int(one) - 1] for one in kinds]
    for one in dict.fromkeys(symbols):
        if not is_element(one):
            raise AnalysisError(f"{source}: {one!r} is not the symbol of an element; expected one such as H")
    return symbols


def _timestep(source: str, request: Request) -> float:
    """Ps, or an AnalysisError if it is not given."""
    if request.timestep_ps is None:
        raise AnalysisError(
            f"{source} has steps instead of times; give the time step of the run: --timestep 0.25fs"
        )
    return request.timestep_ps


def _species(source: str, request: Request) -> tuple[Array, dict[str, Array], list[str]]:
    """Times (ps), numbers of molecules by formula, the most frequent first, and notes."""
    steps, samples = read_species(Path(source))
    steps, samples = steps[request.skip :], samples[request.skip :]
    if not steps:
        raise AnalysisError(f"{source}: skip = {request.skip} leaves no sample; leave fewer out")
    total: Counter[str] = sum(samples, Counter())
    order = sorted(total, key=lambda formula: (-total[formula], formula))
    counts = {formula: np.array([float(one[formula]) for one in samples]) for formula in order}
    note = (
        "a file of species has no bonds, so reactions cannot be found; write bonds with fix reaxff/bonds for "
        "reactions, rate constants and lifetimes"
    )
    return _timestep(source, request) * np.array(steps, float), counts, [note]
