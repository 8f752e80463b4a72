"""Force fields of `.pair` files."""

from pathlib import Path
from typing import Any

import numpy as np

from taichimd.forcefields import library
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.declare import off
from taichimd.forcefields.formats.pair import PairFile, read_pair
from taichimd.forcefields.pair_forms import FORMS, zbl_row
from taichimd.forcefields.table import ANY


def PairPotential(file: str | Path) -> ForceField:  # noqa: N802 - reads as the force field it makes
    """A force field of a `.pair` file."""
    parsed = read_pair(library.find(file))
    rows: dict[Any, Any] = {
        pair: {**row, **(zbl_row(*pair) if parsed.form == "zbl" else {})} for pair, row in parsed.rows.items()
    }
    if parsed.others == "none":
        rows[ANY, ANY] = off(next(iter(rows.values())))
    made = FORMS[parsed.form](table=rows, truncation=parsed.truncation)
    return made.of_file(parsed, _turns_over(parsed))


def _turns_over(parsed: PairFile) -> list[str]:
    """Pairs whose attraction wins at short distances."""
    found = []
    for pair, row in parsed.rows.items():
        if parsed.form not in ("buckingham", "born") or row["C"] <= 0.0 or row.get("D", 0.0) > 0.0:
            continue
        r = np.linspace(0.02, row["cutoff"], 5000)
        u = row["A"] * np.exp((row.get("sigma", 0.0) - r) / row["rho"]) - row["C"] / r**6
        top = int(np.argmax(u))
        found.append(
            f"the energy of {'-'.join(pair)} goes to minus infinity below {r[top]:.3g} angstrom, where it "
            f"has a maximum of {u[top]:.3g} eV; hot atoms may get there: add a repulsion, such as zbl in a "
            "second .pair file"
        )
    return found
