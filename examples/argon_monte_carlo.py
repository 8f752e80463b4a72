"""Argon by Monte Carlo at a pressure and two temperatures, with the three-body energy of Axilrod and Teller.

Run it:  python examples/argon_monte_carlo.py        (draws argon_monte_carlo.png)

Expect a volume per atom of 46 Å³ at 100 K and 55 Å³ at 130 K, and 0.4 of the trial moves accepted. The first
300 sweeps adapt the size of the moves. The average begins where the volume is in equilibrium, and its error
comes from the autocorrelation of the volume.
"""

from pathlib import Path

import numpy as np
from ase.build import bulk
from matplotlib.figure import Figure

from taichimd import Observer, Simulation
from taichimd.estimators.average import average_of, production_start
from taichimd.sampling.chain import MonteCarlo

PRESSURE = 0.05  # GPa
EQUILIBRATION, SWEEPS = 300, 1500


class Volumes(Observer):
    """Collects sweep and volume per atom (Å³) at each report."""

    def __init__(self):
        self.rows = []

    def report(self, simulation, thermo):
        self.rows.append((thermo.step, thermo.volume / simulation.engine.n_atoms))


figure = Figure(figsize=(6.0, 3.3), dpi=80, layout="constrained")
axis = figure.subplots()
for temperature, colour in ((100.0, "#1f6fb4"), (130.0, "#c8402f")):
    chain = MonteCarlo(
        bulk("Ar", a=6.0, cubic=True) * 3, ["Ar.lj", "Ar.atm"], temperature=temperature, pressure=PRESSURE,
        kind="single", move=0.4, equilibration=EQUILIBRATION, seed=1,
    )  # fmt: skip
    volumes = Volumes()
    Simulation.from_engine(chain, timestep=1.0).run(EQUILIBRATION + SWEEPS, every=5, observers=[volumes])
    sampled = np.array([volume for sweep, volume in volumes.rows if sweep > EQUILIBRATION])
    mean = average_of(sampled, production_start([sampled]))
    error = mean.note if mean.error is None else f"± {mean.error:.2f}"
    print(f"volume at {temperature:.0f} K   {mean.value:8.2f} Å³ per atom {error}")
    moves = chain.moves
    print(f"accepted at {temperature:.0f} K   {moves.acceptance:8.2f} of moves up to {moves.size:.2f} Å")
    axis.plot(*zip(*volumes.rows, strict=True), color=colour, linewidth=1.0, label=f"{temperature:.0f} K")
axis.axvline(EQUILIBRATION, color="#555555", linewidth=0.8, linestyle=":")
axis.set(xlabel="sweep", ylabel="volume per atom (Å³)", title=f"108 argon atoms at {PRESSURE} GPa")
axis.legend(frameon=False)
figure.savefig(Path(__file__).with_suffix(".png"))
