"""Does a run of ReaxFF leave the same files on CPU and GPU: energies of terms, bonds, molecules, frames?

    TAICHIMD_RUNTIME=quadrants python -m validation.reaxff.observed --data FOLDER

FOLDER as in `validation.reaxff.systems`. 300 atoms of water at 300 K,
`taichimd run --terms --observe bonds,species` on each backend. Files are compared byte by byte.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from validation import common

FILES = "thermo.csv", "trajectory.extxyz", "bonds.csv", "species.csv"


def main() -> None:
    """Run, compare, write JSON, print a table last."""
    parser = common.parser(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--backends", nargs=2, default=["cpu", "cuda"])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--out", type=Path, default=common.RESULTS / "reaxff_observed.json")
    options = parser.parse_args()
    data = options.data.resolve()
    with tempfile.TemporaryDirectory() as folder:
        runs = [Path(folder) / f"{number} {backend}" for number, backend in enumerate(options.backends)]
        for run, backend in zip(runs, options.backends, strict=True):
            command = [sys.executable, "-m", "taichimd", "run", str(data / "water_300.pdb")]
            command += ["--potential", str(data / "ffield.water"), "--temperature", "300", "--seed", "1"]
            command += ["--steps", str(options.steps), "--terms", "--observe", "bonds,species"]
            command += ["--backend", backend, "--output", str(run)]
            subprocess.run(command, check=True, capture_output=True, cwd=common.ROOT)
        found: dict[str, Any] = {}
        for name in FILES:
            one, other = ((run / name).read_bytes() for run in runs)
            found[name] = {"bytes": len(one), "same": one == other}
        columns = (runs[0] / "thermo.csv").read_text().splitlines()[0]
    head = common.provenance() | {"backends": options.backends, "steps": options.steps}
    common.write_json(options.out, head | {"columns_of_thermo": columns, "files": found})
    rows = [(name, of["bytes"], of["same"]) for name, of in found.items()]
    print(common.table(rows, ("file", "bytes", "same")))


if __name__ == "__main__":
    main()
