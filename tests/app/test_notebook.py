"""What a Jupyter notebook shows: tables, pictures, and one line of progress that rewrites itself."""

import sys
import types

import numpy as np
import pytest
from ase.build import bulk
from fake_engine import fake  # noqa: F401  (a fixture)
from rich.console import Console

from taichimd.app.notebook import result_html, simulation_html
from taichimd.core.markup import Html
from taichimd.estimators.average import average_of
from taichimd.estimators.bonds import bond_structure
from taichimd.estimators.series import Mean, mean_of
from taichimd.estimators.transport import green_kubo_conductivity, hnemd_conductivity
from taichimd.observables.observable import Result
from taichimd.program.results import Thermo
from taichimd.transport.kappa import Kappa
from taichimd.validation.measures import PASSED, Outcome
from taichimd.validation.suite import Certificate

CELLS = [
    "from ase.build import bulk\nfrom taichimd import ProgressObserver, Simulation, ThermoTable",
    "simulation = Simulation(bulk('Si', cubic=True) * 2, 'Si.sw', backend='cpu')\nsimulation",
    "table = ThermoTable('rows.csv', every=100)\n"
    "with ProgressObserver() as progress:\n"
    "    simulation.run(20_000, observers=[table, progress])",
    "table",
    "simulation.run(10)",
]


def test_values_with_units_are_rows_and_names_are_escaped(fake):  # noqa: F811
    from taichimd import Simulation

    simulation = Simulation(bulk("Si", cubic=True), "springs")
    simulation.engine.forcefield.name = "<script>"
    result = simulation.run(20)
    shown = simulation._repr_html_()
    assert isinstance(shown, Html)
    assert "<script>" not in shown
    assert "8 atoms of Si, &lt;script&gt;" in shown
    assert f">{simulation.thermo().temperature:.1f} K</td>" in shown.replace("\n", "")
    assert ">0 to 20</td>" in result._repr_html_().replace("\n", "")
    assert shown == simulation_html(simulation)
    assert result_html(result) == result._repr_html_()


def test_a_simulation_that_exploded_shows_why(fake, monkeypatch):  # noqa: F811
    from taichimd import Simulation
    from taichimd.core.errors import BlowUpError

    simulation = Simulation(bulk("Si", cubic=True), "springs")

    def explode():
        raise BlowUpError("step 3: atom 1 left the cell", 3, 1)

    monkeypatch.setattr(simulation, "thermo", explode)
    assert "step 3: atom 1 left the cell" in simulation._repr_html_()


def test_a_table_shows_the_picture_of_its_rows(fake, tmp_path):  # noqa: F811
    from taichimd import Simulation, ThermoTable

    table = ThermoTable(tmp_path / "rows.csv", every=5)
    assert "no rows yet" in table._repr_html_()
    Simulation(bulk("Si", cubic=True), "springs").run(20, observers=[table])
    shown = table._repr_html_()
    assert shown.count("data:image/svg+xml;base64,") == 1
    assert "http" not in shown


def test_results_show_numbers_with_errors():
    assert "3.0 K" in Thermo(7, -1.0, 0.5, 3.0, None, None, None, None)._repr_html_()
    series = np.random.default_rng(1).normal(5.0, 1.0, 400)
    found = average_of(series)
    assert f"{found.value:.3f} ± {found.error:.3f}" in found._repr_html_()
    many = mean_of(np.arange(60.0).reshape(4, 15))._repr_html_()
    assert "5 more values. 4 independent samples." in many
    current = np.random.default_rng(2).normal(size=(2, 500, 3))
    kappa = green_kubo_conductivity(current, 1.0, 1e3, 300.0, 20.0, (5.0, 15.0))
    assert f">{kappa.mean.texts()[0]}</td>" in kappa._repr_html_().replace("\n", "")
    driven = hnemd_conductivity(current, 1.0, 1e3, 300.0, (1e-4, 0.0, 0.0))
    assert f">{driven.kappa.texts('W/(m K)')[0]}</td>" in driven._repr_html_().replace("\n", "")
    whole = Kappa(kappa.mean, kappa.channels, Mean(300.0, 2.0, 2), 1e3, 8, 2)
    assert "300.0 ± 2.0 K" in whole._repr_html_()
    square = np.array([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]] * 2)
    bonds = bond_structure(["Si"] * 4, square, [5.0 * np.eye(3)] * 2, (False,) * 3, 1.1)
    assert ">2</td>" in bonds._repr_html_().replace("\n", "")
    panels = [lambda axis: axis.plot([0, 1], [2, 3])]
    shown = Result([], panels, [("RDF", "2.3 Å")], notes=["<b>"])._repr_html_()
    assert ">2.3 Å</td>" in shown.replace("\n", "")
    assert "&lt;b&gt;" in shown
    assert "data:image/svg+xml" in shown
    one = Outcome("forces", "Are they right?", PASSED, 1e-9, 1e-6, "", "", 0.1, {})
    shown = Certificate("Si.sw", {}, {}, "quick", (one,), 1.0, 1)._repr_html_()
    assert "1 passed, 0 failed, 0 not run" in shown
    assert "data:image/svg+xml" in shown


def test_progress_in_a_notebook_is_one_output(fake, monkeypatch):  # noqa: F811
    """A stand-in of IPython's display, which each text replaces."""
    from taichimd import ProgressObserver, Simulation

    outputs = []

    class Handle:
        def __init__(self, shown):
            outputs.append([shown])

        def update(self, shown):
            outputs[-1].append(shown)

    module = types.ModuleType("IPython.display")
    module.HTML, module.display = str, lambda shown, display_id: Handle(shown)
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr("taichimd.app.progress.NOTEBOOK_SECONDS", 0.0)
    console = Console(force_jupyter=True)
    simulation = Simulation(bulk("Si", cubic=True), "springs")
    progress = ProgressObserver(console)
    for number in (1, 2):
        with progress:
            simulation.run(300, observers=[progress])
        assert len(outputs) == number, "each run has a line of its own"
        assert outputs[-1]
        assert f"{300 * number:,}/{300 * number:,} steps (100%)" in outputs[-1][-1]


@pytest.mark.long
def test_a_notebook_runs_and_shows_itself(tmp_path):
    why = "nbclient or ipykernel is not installed (make docs installs them)"
    nbformat = pytest.importorskip("nbformat", reason=why)
    nbclient = pytest.importorskip("nbclient", reason=why)
    pytest.importorskip("ipykernel", reason=why)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    _, simulation, run, table, last = (cell.outputs for cell in notebook.cells)
    assert "64 atoms of Si, Si.sw" in simulation[-1].data["text/html"]
    lines = [one for one in run if one.output_type == "display_data"]
    assert len(lines) == 1, "progress is one output, not one for each text"
    assert "20,000/20,000 steps (100%)" in lines[0].data["text/html"]
    assert not [one for one in run if one.output_type == "stream"]
    assert "data:image/svg+xml;base64," in table[-1].data["text/html"]
    assert "Run of 10 steps" in last[-1].data["text/html"]
