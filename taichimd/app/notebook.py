"""What a Jupyter notebook shows of simulations, runs and tables, and a line of output that rewrites itself.

The modules of these objects import this one, so arguments are not annotated with their classes.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from ase.formula import Formula

from taichimd.core.errors import OutputError, TaichimdError
from taichimd.core.markup import Html, element, facts, figure_picture, joined, table
from taichimd.core.printable import counted
from taichimd.io.plots import thermo_figure, title_of
from taichimd.io.thermo import read_thermo

_MAX_SYSTEMS = 20
"""Rows of the table of several systems."""


def name_of(simulation: Any) -> str:
    """Number of atoms, formula and potential."""
    engine = simulation.engine
    formula = Formula.from_list(engine.symbols).reduce()[0].format("hill")
    return f"{counted(len(engine.symbols), 'atom')} of {formula}, {engine.forcefield.name}"


def simulation_html(simulation: Any) -> Html:
    """Atoms, potential, ensemble and cell of a simulation, and its totals now."""
    engine = simulation.engine
    try:
        now = simulation.thermo().facts()
    except TaichimdError as error:
        now = [("state", str(error))]
    lengths = " × ".join(f"{length:.4f}" for length in (engine.cell**2).sum(axis=1) ** 0.5)
    axes = ", ".join(axis for axis, periodic in zip("abc", engine.pbc, strict=True) if periodic)
    rows = [
        ("ensemble", engine.ensemble.name),
        ("cell", f"{lengths} Å, periodic along {axes or 'no direction'}"),
        ("time step", f"{simulation.timestep:g} fs"),
        ("time", f"{simulation.time_ps:g} ps"),
        *now,
    ]
    return joined([element("b", f"Simulation of {name_of(simulation)}"), facts(rows)])


def simulations_html(each: Sequence[Any]) -> Html:
    """A row for each of several systems."""
    rows = []
    for number, one in enumerate(each[:_MAX_SYSTEMS]):
        try:
            now = one.thermo()
            found = [f"{now.temperature:.1f}", f"{now.potential / len(one.engine.symbols):.5f}"]
        except TaichimdError as error:
            found = [str(error), ""]
        rows.append([number, name_of(one), f"{one.step:,}", *found])
    header = ["", "system", "step", "temperature (K)", "potential energy (eV/atom)"]
    parts: list[Any] = [element("b", f"{len(each)} simulations in one launch"), table(header, rows)]
    if len(each) > _MAX_SYSTEMS:
        parts.append(element("p", f"The first {_MAX_SYSTEMS} of {len(each)} systems are shown."))
    return joined(parts)


def result_html(result: Any) -> Html:
    """How many steps a run did, and how long they took."""
    steps = result.last_step - result.first_step
    rows = [
        ("steps", f"{result.first_step:,} to {result.last_step:,}"),
        ("end", "finished" if result.finished else "stopped early"),
        ("stepping", f"{result.stepping_seconds:.3g} s"),
    ]
    if result.stepping_seconds > 0.0:
        rows.append(("speed", f"{steps / result.stepping_seconds:,.0f} steps/s"))
    rows += [("sampling", f"{result.sampling_seconds:.3g} s"), ("output", f"{result.output_seconds:.3g} s")]
    return joined([element("b", f"Run of {steps:,} steps"), facts(rows)])


def table_html(written: Any) -> Html:
    """The picture of the rows that a table has so far, and its path."""
    where = element("code", str(written.path))
    if not written.path.is_file() or not written.symbols:
        return joined([where, "no rows yet"])
    try:
        columns = read_thermo(written.path)
    except OutputError as error:
        return joined([where, str(error)])
    formula, n_atoms = str(Formula.from_list(written.symbols)), len(written.symbols)
    figure = thermo_figure(columns, n_atoms, title_of(formula, n_atoms))
    return joined([where, figure_picture(figure, "thermodynamic quantities against time")])


class Line:
    """A line in the output of a notebook's cell, which each `show` replaces."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, parts: Iterable[str]) -> None:
        """Show this text in place of the text before."""
        from IPython.display import HTML, display

        shown = HTML(element("code", " · ".join(parts)))
        if self._handle is None:
            self._handle = display(shown, display_id=True)
        else:
            self._handle.update(shown)
