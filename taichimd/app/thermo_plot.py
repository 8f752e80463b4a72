"""The picture of a run's thermo table, drawn when the run ends."""

from pathlib import Path

from taichimd.app.observer import Observer
from taichimd.app.outputs import ThermoTable
from taichimd.app.simulated_system import SimulatedSystem
from taichimd.core.markup import element, picture
from taichimd.program.results import Thermo


class ThermoPlot(Observer):
    """Draws the rows of a `ThermoTable` at the end of each `Simulation.run`: thermo.png of `taichimd run`.

        >>> from ase.build import bulk
        >>> from taichimd import Simulation, ThermoPlot, ThermoTable
        >>> simulation = Simulation(bulk("Si", cubic=True), "Si.sw")
        >>> table = ThermoTable("plotted.csv", every=10)
        >>> result = simulation.run(20, observers=[table, ThermoPlot("plotted.png", table)])

    Put the plot after its table in `observers`. If a run is stopped early or fails, nothing is drawn: call
    `draw`.

    Args:
        path: the picture (PNG); an existing file is replaced.
        table: the table whose rows are drawn.
        title: text above the panels; None: formula and number of atoms.

    Raises:
        OutputError: at the end of a run: the picture cannot be written.
    """

    def __init__(self, path: str | Path, table: ThermoTable, title: str | None = None) -> None:
        self.path, self._table, self._title = Path(path), table, title
        self.every = table.every

    def _repr_html_(self) -> str:
        """What a notebook shows: the picture, once it is drawn."""
        if not self.path.is_file():
            return element("code", str(self.path))
        return picture(self.path.read_bytes(), "png", "thermodynamic quantities against time")

    def report(self, simulation: SimulatedSystem, thermo: Thermo) -> None:
        """Draw, if the run ends at this step."""
        if simulation.step == simulation.last_step:
            self.draw(simulation)

    def draw(self, simulation: SimulatedSystem) -> None:
        """Draw the rows that the table has so far.

        Raises:
            OutputError: the picture cannot be written.
        """
        from ase.formula import Formula

        from taichimd.io.plots import plot_thermo, title_of

        symbols = simulation.engine.symbols
        title = self._title or title_of(str(Formula.from_list(symbols)), len(symbols))
        plot_thermo(self._table.path, self.path, len(symbols), title)
