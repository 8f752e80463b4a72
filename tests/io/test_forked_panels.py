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
fork = os.fork

def pixels(together):
    forked_panels.together, file = together, BytesIO()
    plots._save(plots.thermo_figure(columns, 8, "title", 0, [(0.0, "nve"), (0.1, "nvt 300 K")]), file, "png")
    file.seek(0)
    return imread(file)

def check(what, alone):
    forked = []

    def counted():
        if what == "none" or what == "one" and len(forked) == 1:
            raise BlockingIOError("no more processes")
        number = fork()
        if number == 0 and what == "dies" and len(forked) == 1:
            os._exit(3)
        forked.append(number)
        return number

    os.fork = counted
    assert np.array_equal(pixels(True), alone), what
    try:
        os.waitpid(-1, 0)
        print(what, "a process is left")
    except ChildProcessError:
        print(what, len(forked))

for panels, cases in (("five", ["all"]), ("four", ["all", "none", "one", "dies"])):
    if panels == "four":
        columns["volume_A3"] = np.full(200, 40.0)
    os.fork = None
    alone = pixels(False)
    print(panels, len(np.unique(alone.reshape(-1, 4), axis=0)) > 50)
    for what in cases:
        check(what, alone)
"""


def test_the_pixels_are_those_of_one_process():
    """Also where no process can be made, only one, and where one dies."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM], capture_output=True, text=True)
    expected = ["five True", "all 5", "four True", "all 3", "none 0", "one 1", "dies 3"]
    assert done.stdout.splitlines() == expected, done.stderr


def test_a_figure_that_is_not_white_is_drawn_by_one_process(monkeypatch):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from taichimd.io import forked_panels

    monkeypatch.setattr(forked_panels, "together", True)
    monkeypatch.setattr(os, "fork", None)
    figure = Figure(facecolor="black")
    figure.subplots(2, 2)
    assert (forked_panels.draw(FigureCanvasAgg(figure))[0, 0] == [0, 0, 0, 255]).all()
