"""All that a GPU is needed for, in one command: bits first, then speed.

    TAICHIMD_RUNTIME=quadrants python -m validation.triples.gpu --folder FOLDER

Each part is a process of its own, which leaves a file in the folder and prints its table.
"""

import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter

from validation import common

PARTS = {
    "bits": (100, "bits --backends cpu cuda --quick"),
    "rates": (50, "rates --backend cuda"),
    "dynamics": (50, "dynamics --backend cuda"),
    "energies": (40, "energies --backend cuda"),
}
"""Seconds after which a part is stopped, and what runs. Each writes its file as it goes."""


def main() -> None:
    """Run the parts one after the other."""
    parser = common.parser(__doc__)
    parser.add_argument("--folder", type=Path, default=common.RESULTS)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    chosen = parser.parse_args()
    for name in chosen.parts:
        limit, command = PARTS[name]
        module, *options = command.split()
        out = chosen.folder / f"triples_{name}_cuda.json"
        begun = perf_counter()
        try:
            ended = subprocess.run(
                [sys.executable, "-m", f"validation.triples.{module}", *options, "--out", str(out)],
                cwd=common.ROOT, env=dict(os.environ), timeout=limit, check=False,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            ended = -1
        print(f"== {name}: ended with {ended} after {perf_counter() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
