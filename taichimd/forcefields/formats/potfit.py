"""Potential files of potfit are recognised and refused: potfit itself writes files that are read.

Such a file begins with a line `#F format number`, such as `#F 3 1`, which other readers would take for a
comment.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from taichimd.core.errors import ParameterFileError

_FIRST = re.compile(r"#F\s+\d+\s+\d+\s*")


def refuse_potfit(lines: Sequence[str], path: Path) -> None:
    """Raise a ParameterFileError if the lines are those of a potential file of potfit."""
    for number, line in enumerate(lines, start=1):
        if _FIRST.fullmatch(line.strip()):
            raise ParameterFileError(
                f"{path} line {number}: this is a potential file of potfit; let potfit write its result for "
                "LAMMPS, as a section of a table file (form table of a .pair file) or as .eam.alloy"
            )
        if line.strip() and not line.startswith("#"):
            return
