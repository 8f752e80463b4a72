"""Silicon before and after melting: a snapshot of each, and the radial distribution function g(r).

Run it:  python examples/silicon_structure.py        (draws silicon_structure.png; half a minute)

Expect four neighbours at 2.38 Å in the crystal at 300 K. In the melt at 3000 K the first peak is lower and
wider, and no order is left beyond 4 Å. Both have the density of the crystal. A snapshot shows the upper half.
"""

from pathlib import Path

import numpy as np
from ase.build import bulk
from matplotlib.figure import Figure

from taichimd import Bussi, Simulation

R_MAX, BINS = 8.0, 160
atoms = bulk("Si", a=5.431, cubic=True) * 4
edges = np.linspace(0.0, R_MAX, BINS + 1)
shells = 4 / 3 * np.pi * np.diff(edges**3) * len(atoms) / atoms.get_volume()

figure = Figure(figsize=(7.4, 2.4), dpi=70, layout="constrained")
*snapshots, distribution = figure.subplots(1, 3, width_ratios=(1, 1, 1.5))
for axis, name, temperature, colour in zip(
    snapshots, ("crystal", "melt"), (300.0, 3000.0), ("Blues", "Reds"), strict=True
):
    # Half of the start's kinetic energy goes into the bonds.
    start = {"temperature": 2 * temperature, "seed": 1}
    simulation = Simulation(atoms, "Si.sw", timestep=1.0, ensemble=Bussi(temperature), **start)
    simulation.run(5000)
    counts = np.zeros(BINS)
    for _ in range(20):
        simulation.run(100)
        now = simulation.atoms()
        pairs = now.get_all_distances(mic=True)[np.triu_indices(len(now), 1)]
        counts += 2 * np.histogram(pairs, edges)[0] / len(now) / 20
    g, r = counts / shells, (edges[1:] + edges[:-1]) / 2
    print(f"first peak, {name:8s} {r[g.argmax()]:6.2f} Å, g = {g.max():.1f}")
    print(f"neighbours, {name:8s} {counts[edges[1:] < 2.9].sum():6.2f} within 2.9 Å")
    distribution.plot(
        r, g, color="#1f6fb4" if name == "crystal" else "#c8402f", label=f"{name}, {temperature:.0f} K"
    )

    x, y, z = now.get_positions(wrap=True).T
    order = z.argsort()[len(z) // 2 :]
    axis.scatter(x[order], y[order], s=34, c=(z[order] // 4), cmap=colour, vmin=0, linewidths=0)
    axis.set(title=f"{name}, {temperature:.0f} K", aspect="equal", xticks=(), yticks=())
distribution.set(xlabel="r (Å)", ylabel="g(r)", title="512 silicon atoms", xlim=(1.5, R_MAX), ylim=(0, 9))
distribution.axhline(1.0, color="#888888", linewidth=0.6)
distribution.legend(frameon=False)
figure.savefig(Path(__file__).with_suffix(".png"))
