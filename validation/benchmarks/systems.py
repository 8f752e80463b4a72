"""The benchmark systems: those on which the peers were measured, by case name and number of atoms."""

from collections.abc import Callable
from dataclasses import dataclass

from validation import systems


@dataclass(frozen=True)
class Case:
    """A benchmark system in several sizes."""

    build: Callable[[int], systems.System]  # the system of so many conventional cells in each direction
    atoms_per_cell: int  # of the conventional cell
    cpu_sizes: tuple[int, ...]  # numbers of atoms timed on a CPU by default
    cuda_sizes: tuple[int, ...]  # numbers of atoms timed on a GPU by default
    what: str  # one line for readers
    # times the kinetic energy of the start, in benchmarks: a perfect crystal gives half of it to its bonds
    heat: float = 2.0

    def system(self, n_atoms: int) -> systems.System:
        """The system of exactly n_atoms atoms, or a ValueError."""
        cells = round((n_atoms / self.atoms_per_cell) ** (1.0 / 3.0))
        if cells < 1 or self.atoms_per_cell * cells**3 != n_atoms:
            raise ValueError(f"{n_atoms} atoms are not {self.atoms_per_cell} times a cube")
        return self.build(cells)

    def benchmark(self, n_atoms: int) -> systems.System:
        """The same, at the temperature of its name once it has settled."""
        return heated(self.system(n_atoms), self.heat)


def heated(system: systems.System, heat: float) -> systems.System:
    """The system with so many times its kinetic energy: of a perfect crystal half of it goes to the bonds."""
    system.atoms.set_momenta(heat**0.5 * system.atoms.get_momenta())
    return system


CASES = {
    "tersoff-si": Case(
        build=lambda cells: systems.silicon(cells, 300.0),
        atoms_per_cell=8,
        cpu_sizes=(1_000, 8_000, 64_000),
        cuda_sizes=(1_000, 8_000, 64_000, 512_000),
        what="Tersoff Si (1988), a = 5.432 angstrom, 300 K, 1 fs",
    ),
    "sw-si": Case(
        build=lambda cells: systems.silicon(cells, 300.0, potential="Si.sw"),
        atoms_per_cell=8,
        cpu_sizes=(1_000,),
        cuda_sizes=(8_000, 64_000, 512_000),
        what="Stillinger-Weber Si (1985), a = 5.432 angstrom, 300 K, 1 fs",
    ),
    "vashishta-sio2": Case(
        build=systems.silica,
        atoms_per_cell=24,
        cpu_sizes=(1_536, 12_288),
        cuda_sizes=(12_288, 98_304, 786_432),
        what="Vashishta SiO2 (1990), cutoff 10 angstrom, beta-cristobalite a = 7.16 angstrom, 300 K, 1 fs",
    ),
    "vashishta-sic": Case(
        build=systems.silicon_carbide,
        atoms_per_cell=8,
        cpu_sizes=(8_000,),
        cuda_sizes=(8_000, 64_000),
        what="Vashishta SiC (2007), zincblende a = 4.3582 angstrom, 300 K, 1 fs",
    ),
    "lj-melt": Case(
        build=systems.lj_melt,
        atoms_per_cell=4,
        cpu_sizes=(4_000, 32_000),
        cuda_sizes=(32_000, 256_000, 1_048_576),
        what="LJ melt, reduced density 0.8442, T* 1.44, cutoff 2.5, dt 0.005",
        heat=1.0,
    ),
    "lj-argon": Case(
        build=lambda cells: systems.argon(cells, 300.0, cutoff=10.0, timestep_fs=1.0),
        atoms_per_cell=4,
        cpu_sizes=(32_000,),
        cuda_sizes=(32_000, 1_048_576),
        what="LJ argon, fcc a = 5.35 angstrom, cutoff 10 angstrom, 300 K, 1 fs",
    ),
    "eam-cu": Case(
        build=systems.embedded_copper,
        atoms_per_cell=4,
        cpu_sizes=(4_000, 32_000),
        cuda_sizes=(32_000, 256_000, 2_048_000),
        what="EAM copper, Cu_u3.eam, fcc a = 3.615 angstrom, cutoff 4.95 angstrom, 1600 K, 5 fs",
        heat=1.0,
    ),
    "edip-si": Case(
        build=systems.silicon_of_lammps("edip", "Si.edip"),
        atoms_per_cell=8,
        cpu_sizes=(1_000,),
        cuda_sizes=(8_000, 64_000, 512_000),
        what="EDIP Si (Si.edip of LAMMPS), a = 5.432 angstrom, 300 K, 1 fs",
    ),
    "tersoff-mod-si": Case(
        build=systems.silicon_of_lammps("tersoff/mod", "Si.tersoff.mod"),
        atoms_per_cell=8,
        cpu_sizes=(1_000,),
        cuda_sizes=(8_000, 64_000, 512_000),
        what="Tersoff/mod Si (2007), Si.tersoff.mod of LAMMPS, a = 5.432 angstrom, 300 K, 1 fs",
    ),
    "tersoff-mod-c-si": Case(
        build=systems.silicon_of_lammps("tersoff/mod/c", "Si.tersoff.modc"),
        atoms_per_cell=8,
        cpu_sizes=(1_000,),
        cuda_sizes=(8_000, 64_000, 512_000),
        what="Tersoff/mod/c Si (2017), Si.tersoff.modc of LAMMPS, a = 5.432 angstrom, 300 K, 1 fs",
    ),
    "tersoff-zbl-si": Case(
        build=systems.silicon_of_lammps("tersoff/zbl", "SiC.tersoff.zbl"),
        atoms_per_cell=8,
        cpu_sizes=(1_000,),
        cuda_sizes=(8_000, 64_000, 512_000),
        what="Tersoff/ZBL Si (1998), SiC.tersoff.zbl of LAMMPS, a = 5.432 angstrom, 300 K, 1 fs",
    ),
}
