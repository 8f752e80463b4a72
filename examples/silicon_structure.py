"""Silicon before and after melting: a snapshot of each, and the radial distribution function g(r).

Run it:  python examples/silicon_structure.py        (draws silicon_structure.png; half a minute)

Expect four neighbours at 2.36 Å in the crystal at 300 K, and a melt at 3000 K whose first peak is lower and
wider and whose order ends after two peaks. Both have the density of the crystal.
"""

from pathlib import Path

from ase.build import bulk
from ase.data import covalent_radii
from matplotlib.figure import Figure

from taichimd import Bussi, Rdf, Simulation

figure = Figure(figsize=(9.0, 3.0), dpi=90, layout="constrained")
*snapshots, distribution = figure.subplots(1, 3, width_ratios=(1, 1, 1.5))
for axis, name, temperature, colour in zip(
    snapshots, ("crystal", "melt"), (300.0, 3000.0), ("#1f6fb4", "#c8402f"), strict=True
):
    atoms = bulk("Si", a=5.431, cubic=True) * 4
    simulation = Simulation(
        atoms, "Si.sw", timestep=1.0, temperature=2 * temperature, ensemble=Bussi(temperature), seed=1
    )
    simulation.run(4000)
    rdf = Rdf(r_max=8.0, every=10)
    simulation.run(2000, samplers=[rdf])
    r, g = rdf.result()
    print(f"first peak of the {name:8s} {r[g.argmax()]:6.2f} Å, g = {g.max():.1f}")
    distribution.plot(r, g, color=colour, linewidth=1.2, label=f"{name}, {temperature:.0f} K")

    positions = simulation.atoms().get_positions(wrap=True)
    near_last = positions[positions[:, 2].argsort()]
    depth = near_last[:, 2] / near_last[:, 2].max()
    size = (covalent_radii[14] * 12) ** 2 * 0.4
    axis.scatter(*near_last[:, :2].T, s=size, c=depth, cmap="Blues" if name == "crystal" else "Reds", vmin=-0.6, vmax=1.2,
                 edgecolors="#333333", linewidths=0.4)  # fmt: skip
    axis.set(title=f"{name}, {temperature:.0f} K", aspect="equal", xticks=(), yticks=())
distribution.set(xlabel="r (Å)", ylabel="g(r)", title="512 silicon atoms", ylim=(0, 8))
distribution.axhline(1.0, color="#888888", linewidth=0.6)
distribution.legend(frameon=False)
figure.savefig(Path(__file__).with_suffix(".png"))
