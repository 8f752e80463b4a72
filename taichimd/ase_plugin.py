"""What ASE finds of taichimd once it is installed: both groups of plugin entry points (pyproject.toml).

- `ase.plugins` loads this module and takes its `__ase_plugins__`: the calculator, listed by
  `ase info --plugins`. The mechanism is in ASE from 3.29 on, in a module still private (`ase._4.plugins`).
- `ase.ioformats` loads `checkpoint_format`: with it `ase.io.read` and `ase gui` open a run's checkpoint.npz.
  Trajectories need no format of ours, they are extended XYZ or ASE's own.

The older registry of names, `register_calculator_class`, is filled when `taichimd.calculator` is imported.

ASE imports this module whenever it looks for formats, so it must import next to nothing itself.
"""

from typing import Any

from ase import Atoms
from ase.utils.plugins import ExternalIOFormat

CITATION = "taichimd: molecular dynamics with many-body potentials"

checkpoint_format = ExternalIOFormat(
    desc="taichimd checkpoint",
    code="1S",  # one structure, read from a path
    module="taichimd.ase_plugin",
    glob=["*checkpoint.npz"],  # a bare string would be taken for a list of letters, "*" among them
)


def read_taichimd_checkpoint(filename: str) -> Atoms:
    """The structure in a checkpoint; ASE finds this function by its name.

    Args:
        filename: path of a checkpoint.npz.

    Returns:
        Unwrapped positions, cell, masses and velocities, and the forces as results.

    Raises:
        CheckpointError: missing, truncated, or not a checkpoint.
    """
    from ase.calculators.singlepoint import SinglePointCalculator

    from taichimd.io.checkpoint import read_checkpoint

    checkpoint = read_checkpoint(filename)
    atoms = checkpoint.atoms()
    atoms.calc = SinglePointCalculator(atoms, forces=checkpoint.forces)
    return atoms


def __getattr__(name: str) -> Any:
    """Make `__ase_plugins__` when it is asked for.

    Not at import: importing ASE's plugin module makes it load every entry point at once, this module
    included, which would then be found half imported, without its plugins. It also keeps this module good
    for ASE releases that have no such mechanism; they never ask.
    """
    if name != "__ase_plugins__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ase._4.plugins.plugin import CalculatorPlugin

    return {
        CalculatorPlugin(name="taichimd", citation=CITATION, implementation="taichimd.calculator.TaichiMD")
    }
