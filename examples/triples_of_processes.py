"""The energy of all triples of drops of argon, shared by MPI processes; each takes a GPU if there are some.

    in the checkout: pip install '.[mpi]'
    mpiexec -n 2 python examples/triples_of_processes.py

The energy is bitwise identical for any number of processes. Atoms at the surface of a drop have fewer near
triples, so the mean energy of an atom grows with the drop.
"""

from taichimd.core.processes import communicator

# First: a process takes its device before the runtime starts.
processes = communicator()

import matplotlib.pyplot as plt  # noqa: E402
from ase.build import bulk  # noqa: E402

from taichimd import AxilrodTeller, triple_energy  # noqa: E402

argon = AxilrodTeller(nu=45.69)
atoms, energies = [], []
for cells in range(1, 6):
    drop = bulk("Ar", "fcc", a=5.3, cubic=True).repeat(cells)
    drop.pbc = False
    atoms.append(len(drop))
    energies.append(triple_energy(drop, argon, processes=processes))

if processes.Get_rank() == 0:
    for n, energy in zip(atoms, energies, strict=True):
        print(f"{n:4d} atoms  {energy:.15g} eV  {energy.hex()}")
    figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
    axes.plot(atoms, [1000 * energy / n for n, energy in zip(atoms, energies, strict=True)], "o-")
    axes.set(xlabel="atoms of the drop", ylabel="three-body energy, meV/atom", xscale="log")
    figure.savefig("triples_of_processes.png", dpi=80)
