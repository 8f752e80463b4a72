"""Panels that are drawn in processes of their own make the picture that one process draws."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system makes no copies of processes")

# In a process without threads of a runtime, as the one that draws.
PROGRAM = """
import os, sys
import numpy as np
from io import BytesIO
from matplotlib.image import imread
from taichimd.io import forked_panels, plots

random = np.random.default_rng(3)
columns = {name: random.normal(size=200) for name in (
    "potential_eV", "kinetic_eV", "total_eV", "conserved_eV", "pressure_GPa", "volume_A3", "temperature_K")}
columns |= {"step": np.arange(200), "time_ps": np.arange(200) / 1000}
if sys.argv[1] == "four":
    columns["volume_A3"] = np.full(200, 40.0)
fork, forked = os.fork, []

def counted():
    if sys.argv[2] == "none" or sys.argv[2] == "one" and len(forked) == 1:
        raise BlockingIOError("no more processes")
    number = fork()
    if number == 0 and sys.argv[2] == "dies" and len(forked) == 1:
        os._exit(3)
    forked.append(number)
    return number

os.fork = counted

def pixels(together):
    forked_panels.together, file = together, BytesIO()
    plots._save(plots.thermo_figure(columns, 8, "title", 0, [(0.0, "nve"), (0.1, "nvt 300 K")]), file, "png")
    file.seek(0)
    return imread(file)

alone = pixels(False)
assert not forked
assert np.array_equal(pixels(True), alone)
try:
    os.waitpid(-1, 0)
    print("a process is left")
except ChildProcessError:
    print(len(forked), len(np.unique(alone.reshape(-1, 4), axis=0)) > 50)
"""


@pytest.mark.parametrize(
    ("panels", "what", "processes"),
    [("four", "all", 3), ("five", "all", 5), ("four", "none", 0), ("four", "one", 1), ("four", "dies", 3)],
)
def test_the_pixels_are_those_of_one_process(panels, what, processes):
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, panels, what]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == f"{processes} True\n", done.stderr


def test_a_figure_that_is_not_white_is_drawn_by_one_process(monkeypatch):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from taichimd.io import forked_panels

    monkeypatch.setattr(forked_panels, "together", True)
    monkeypatch.setattr(os, "fork", None)
    figure = Figure(facecolor="black")
    figure.subplots(2, 2)
    assert (forked_panels.draw(FigureCanvasAgg(figure))[0, 0] == [0, 0, 0, 255]).all()
