"""Silica glass: a crystal melts, is quenched at constant volume, and is measured.

Run it:  python examples/silica_glass.py             (648 atoms, three minutes; draws silica_glass.png)
         python examples/silica_glass.py 8 200000    (12,288 atoms, 28 K/ps: for a GPU)

Expect bonds Si-O of 1.62 angstrom, O-O 2.6, Si-Si 3.1; angles O-Si-O of 109 degrees, Si-O-Si 142; and four O
around 95% of the Si. The faster the quench, the more of them have three.
P. Vashishta, R. K. Kalia, J. P. Rino, I. Ebbsjo, Phys. Rev. B 41, 12197 (1990).
"""

import sys
from pathlib import Path

import ase.io
from matplotlib.figure import Figure

from taichimd import Bussi, Simulation
from taichimd.io.analysis_files import read_table
from taichimd.observables.job import analyze
from taichimd.observables.request import Request
from taichimd.system.lattices import build_lattice

cells, cooling = (int(word) for word in sys.argv[1:3]) if len(sys.argv) > 2 else (3, 12_000)
melting, settling = cooling // 3, cooling // 6

# 8 SiO2 of 60.084 amu in a cubic cell, at the density of the glass, 2.20 g/cm^3.
crystal = build_lattice("silica", cells, a=(8 * 60.084 / (2.20 * 0.602214)) ** (1 / 3))
bath = Bussi(6000.0, final_temperature=300.0, ramp=(melting, melting + cooling))
simulation = Simulation(crystal, "SiO2_1990.vashishta", timestep=1.0, ensemble=bath)

temperatures, energies = [], []
for _ in range(100):
    simulation.run((melting + cooling) // 100)
    thermo = simulation.thermo()
    temperatures.append(thermo.temperature)
    energies.append(thermo.potential / len(crystal))
simulation.run(settling)
frames = []
for _ in range(20):
    simulation.run(settling // 20)
    frames.append(simulation.atoms())
folder = Path(__file__).parent / "silica-glass"
folder.mkdir(exist_ok=True)
ase.io.write(folder / "glass.extxyz", frames)

# The same as: taichimd analyze glass.extxyz --rdf --angles 2.0
request = Request(rdf=True, angles=2.0)
for name, value in analyze(str(folder / "glass.extxyz"), request, folder, overwrite=True).rows:
    print(f"{name:<16} {value}")
rdf, angles = read_table(folder / "rdf.csv"), read_table(folder / "angles.csv")

figure = Figure(figsize=(10.0, 3.2), dpi=80, layout="constrained")
distances, bends, path = figure.subplots(1, 3)
for pair in ("O-Si", "O-O", "Si-Si"):
    distances.plot(rdf["r_A"], rdf[f"g_{pair}"], label=pair)
distances.set(xlabel="r (Å)", ylabel="g(r)", xlim=(1, 8), ylim=(0, 8))
for triple in ("O-Si-O", "Si-O-Si"):
    bends.plot(angles["angle_deg"], angles[f"p_{triple}_per_deg"], label=triple)
bends.set(xlabel="bond angle (degrees)", ylabel="probability (1/degree)", xlim=(80, 180))
path.plot(temperatures, energies, ".")
path.set(xlabel="temperature (K)", ylabel="potential energy (eV/atom)")
for axis in (distances, bends):
    axis.legend(frameon=False)
figure.savefig(Path(__file__).with_suffix(".png"))
