"""The command `taichimd kappa` after its options are read: header, progress, files, summary."""

import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from rich.console import Console

from taichimd.app.notes import of_timestep
from taichimd.app.progress import duration
from taichimd.app.summary import print_analysis
from taichimd.core.printable import counted
from taichimd.core.signals import StopRequest
from taichimd.core.units import PS
from taichimd.estimators.without_window import disagreement
from taichimd.forcefields.load import load_forcefield
from taichimd.io.analysis_files import check_picture
from taichimd.io.lock import locked
from taichimd.io.structures import read_noted, unused_charges
from taichimd.observables.green_kubo import growth_notes
from taichimd.observables.outcome import Outcome
from taichimd.system.overlaps import notes_on_overlap
from taichimd.transport import files
from taichimd.transport.kappa import Kappa, check_potential, systems_of, thermal_conductivity
from taichimd.transport.layout import Layout
from taichimd.transport.sampling import check_runs
from taichimd.transport.settings import KappaSettings
from taichimd.transport.spectra_files import notes_on

_OFF = 0.05
"""Share of the temperature by which runs may be off it without a remark."""
_RECORD = 5.0
"""Times the end of the plateau that a run should last: as many pieces of it are independent."""
_SOLID = 2.0
"""Angstrom that atoms may move in a run of a solid: they swing by a tenth of a bond, and drift a little."""


def run_kappa(
    structure: str,
    potential: str | list[str],
    settings: KappaSettings,
    folder: Path,
    overwrite: bool,
    console: Console,
    plot_format: str = "png",
    read: Mapping[str, Any] | None = None,
) -> int:
    """Run what is missing, write results, print a summary; `read`: units and atom style of the structure.

    Returns the exit code: 0 when all runs are there, 130, 143 or 129 when stopped by a signal. Finished runs
    are kept whatever stops it.
    """
    check_picture(plot_format)
    atoms, notes = read_noted(structure, **(read or {}))
    notes += [*unused_charges(atoms), *notes_on_overlap(atoms, refuse=True)]
    forcefield = load_forcefield(potential)
    forcefield.check_species(sorted(set(atoms.symbols)))
    check_potential(forcefield, settings)
    forcefield.check_bounded()
    systems = systems_of(atoms, settings)
    for one, layout in systems:
        check_runs(one, settings, layout)
    system, _ = systems[0]
    with locked(folder):
        files.prepare(folder, overwrite)
        given = {"structure": structure, "potential_given": potential}
        return _run_in_folder(
            notes,
            atoms,
            system,
            forcefield,
            settings,
            files.paths(folder, plot_format, settings),
            console,
            given,
        )


def _run_in_folder(
    read: list[str], atoms: Atoms, system: Atoms, forcefield: Any, settings: KappaSettings,
    paths: list[Path], console: Console, given: Mapping[str, Any],
) -> int:  # fmt: skip
    """`run_kappa` in a folder that is ours."""
    formula = system.get_chemical_formula(empirical=True)
    title = f"{formula}, {len(system):,} atoms, {settings.temperature:g} K, {forcefield.name}"
    each = f"{settings.equilibrate / 1000:g} + {settings.time / 1000:g} ps"
    runs = counted(settings.all_runs, "run")
    console.print(f"{title}\n{settings.method}, {runs} of {each}", highlight=False, markup=False)
    if settings.spectrum:
        console.print(_cost(systems_of(atoms, settings), settings), highlight=False, markup=False)
    notes = [*of_timestep(settings.timestep), *read]
    for note in notes:
        console.print(f"note: {note}", highlight=False, markup=False)
    begin, started = time.perf_counter(), time.time()
    with StopRequest() as stop, console.status("compiling") as status:

        def tell(run: int, what: str, fraction: float) -> None:
            took = duration(time.perf_counter() - begin)
            status.update(f"run {run + 1} of {settings.all_runs}: {what} {100 * fraction:.0f}%, {took}")

        with warnings.catch_warnings(record=True) as caught:
            found = thermal_conductivity(
                atoms, forcefield, settings, folder=paths[0].parent, should_stop=stop, progress=tell
            )
    # What was said of the structure is not said again of its simulations.
    warned = {str(one.message): one for one in caught if str(one.message) not in notes}
    for one in [] if console.quiet else warned.values():
        warnings.showwarning(one.message, one.category, one.filename, one.lineno)
    if found is not None:
        doubts = _notes(found, system, settings)
        said = [*notes, *warned, *doubts]
        potential = forcefield.describe(system.get_chemical_symbols())
        result = files.write(paths, found, settings, potential, title, said, given, started)
        rows = [
            *result.rows,
            ("temperature", files.temperature_of(found)),
            ("decomposition", ", ".join(sorted(set(found.decompositions)))),
            ("error", files.error_is(found)),
        ]
        if found.driven is not None:
            rows.append(("production", f"from {files.production_from(found.driven):.3g} ps on"))
        print_analysis(console, Outcome(rows, doubts, paths))
    if stop.received is None:
        return 0
    kept = 0 if found is None else found.runs
    console.print(
        f"stopped: {kept} of {settings.runs} runs are finished, and unfinished runs are kept; the same "
        "command continues",
        highlight=False,
    )
    return 128 + stop.received


def _cost(systems: Sequence[tuple[Atoms, Any]], settings: KappaSettings) -> str:
    """Memory and work of the spectra of one run of the largest system, before it starts."""
    from taichimd.observables.samplers.spectrum import cost

    largest, layout = systems[-1] if len(systems) == 1 else max(systems, key=lambda one: len(one[0]))
    groups = layout.groups if isinstance(layout, Layout) else {"path": range(len(largest))}
    entries = sum(len(atoms) for name, atoms in groups.items() if name not in ("hot", "cold"))
    return cost(entries, round((settings.spectrum_window or 1000.0) / (settings.every * settings.timestep)))


def _notes_of_method(found: Kappa, settings: KappaSettings) -> list[str]:
    """What makes it doubtful that belongs to a method."""
    notes = []
    if found.green_kubo is not None:
        end, length = found.green_kubo.plateau[1] / PS, settings.time / 1000.0
        if length < _RECORD * end:
            notes.append(
                f"plateau ends at {end:.3g} ps, and a run is only {length:.3g} ps long: expected "
                f"{_RECORD:g} times as long or longer; take a longer --time, or a shorter --window"
            )
        quantity = "kappa" if found.boundary is None else "conductance"
        notes += growth_notes(found.green_kubo, quantity, "--window")
    if found.stacie is not None:
        notes += [note] if (note := disagreement(found.mean, found.stacie)) else []
    if found.boundary is not None:
        notes += found.boundary.notes
    if found.paths is not None:
        notes += found.paths.notes
    if found.conduction is not None:
        notes += found.conduction.notes
    if found.linear is not None:
        notes += found.linear.notes
    for one in found.spectra:
        notes += notes_on(one)
    return notes


def _notes(found: Kappa, system: Atoms, settings: KappaSettings) -> list[str]:
    """What makes the result doubtful."""
    notes = _notes_of_method(found, settings)
    mean, wanted = found.temperature, settings.temperature
    if abs(mean.value - wanted) > _OFF * wanted + 2.0 * np.nan_to_num(mean.error):
        note = f"the runs had {mean.value:.0f} K on average, not {wanted:g}: "
        if settings.method == "hnemd":
            note += "so large a --driving-force heats them, and the response is not linear; try a tenth of it"
        else:
            note += "take a longer --equilibrate, or relax the structure first"
        notes.append(note)
    if settings.method == "hnemd" and found.moved > _SOLID:
        notes.append(
            f"atoms moved by {found.moved:.2g} Å, as in a liquid: hnemd neither drives nor counts the energy "
            "that moving atoms carry; take --method green-kubo"
        )
    if settings.thickness is not None:
        across = float(np.ptp(system.positions[:, 2]))
        if across > settings.thickness:
            notes.append(
                f"the atoms extend over {across:.3g} Å across the sheet, more than --thickness; if the "
                "material fills its cell, leave --thickness out"
            )
    return notes
