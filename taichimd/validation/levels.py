"""How much the suite does: `--quick` in less than a minute on two cores, `--full` for results to keep."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Level:
    """Amounts of work."""

    name: str  # quick or full
    atoms: int  # of a crystal that the suite builds, about
    clusters: int  # random clusters of the finite differences
    moved: int  # atoms of the structure whose forces are compared with finite differences
    equilibration: int  # steps before the first sample
    drift: int  # steps of samples
    every: int  # steps between samples
    heat: int  # clusters of the heat-current identity
    steps: int  # of runs whose bits are compared
    far: int  # steps of runs on two backends or two runtimes
    lammps: int  # steps of LAMMPS's trajectory


QUICK = Level("quick", 60, 2, 4, 1000, 1000, 5, 1, 60, 100, 20)
FULL = Level("full", 200, 6, 16, 2000, 20_000, 20, 4, 300, 1000, 20)
LEVELS = {one.name: one for one in (QUICK, FULL)}
