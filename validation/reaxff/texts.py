"""Sentences of the page docs/measurements/reaxff.md, which `validation.reaxff.tables` writes."""

TITLE = """\
# ReaxFF, measured

The measurements of [Kylasa, Aktulga and Grama](https://doi.org/10.1016/j.jcp.2014.04.035), J. Comput. Phys.
272, 343 (2014), done with taichimd. The paper's GPU was a Tesla C2075, its CPU two Xeon E5606 of four cores.
Water and silica are the paper's structures of 6,540 and 6,000 atoms, and copies of these side by side.
`paper` is a time step of 0.1 fs and charges to 1e-10, `today` 0.25 fs and 1e-6.
`validation/reaxff/tables.py` writes this page."""
ENERGIES = """\
NVT at 300 K. The hash of a state covers positions, velocities, forces and charges. The difference is that of
the term which differs most, over the standard deviation of the term through the run. Of 300 atoms of water,
300 K, the files that a run with `--terms --observe bonds,species` leaves (table, frames, bonds, molecules)
are the same byte by byte on both (`reaxff_observed_h100.json`). Under Taichi CPU and GPU round differently.
There 300 atoms of water are 2e-11 Å apart after 1,000 steps at the paper's settings, and 5e-6 Å with those of
today (`reaxff_taichi.json`): a solve that stops at 1e-6 may do an iteration more on one of them."""
CONSERVED = """\
The thermostat is stochastic velocity rescaling with a coupling time of 0.1 ps. The conserved quantity is the
total energy and what the bath has received. With the constants of LAMMPS the energy is not stationary in the
charges, so the conserved quantity follows them."""
SIZES = """\
NVT. `tables`: van der Waals and Coulomb terms are looked up. `direct`: they are computed. Ratios are the time
of CPU cores of the same machine over that of the GPU. The last column has the paper's four ratios, of the
size next to ours."""
COMPONENTS = """\
Sums over the kernels of a component. The host queues each loop here. In a run the device queues the loops of
a solve."""
THREADS = """\
µs of a launch, by the number of threads that share the row of an atom. taichimd takes 8. Sums over rows are
exact, so the number of threads changes no bit. Angles and torsions have a thread for each half of a bond."""
ATOMICS = """\
`gather` is what taichimd does: each number has one writer. With float atomics the end of a torsion, the
acceptor of a hydrogen bond, and the second atom of a pair get their shares at once. A pair is computed once
then."""
BLOCKS = "µs a step. taichimd takes 128 threads."
MEMORY = """\
Arrays on the device. taichimd has no lists of angles, torsions or hydrogen bonds: loops visit the bonds.

Without a stored matrix each product would work out all values again. The kernel that fills the matrix does
this once a step: 65 µs for 6,540 atoms of water, 268 µs for 39,240 (table 4). A product with the stored
matrix takes 25 and 93 µs, and a step does four. So a step would be slower. It would have a third of the
memory less."""
