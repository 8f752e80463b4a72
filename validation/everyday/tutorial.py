"""What do the commands of docs/tutorial.md print, at full size?

The page shows excerpts; `tests/pages/test_page_numbers.py` looks for each line of them here. About ten
minutes on two CPU cores.
Kept in validation/results/: tutorial.json, made with TAICHIMD_RUNTIME=quadrants.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from validation import common

PAGE = "docs/tutorial.md"
NOT_RUN = (". .venv",)


def main() -> None:
    """Run the commands of the page in turn in an empty folder and write what they print."""
    parser = common.parser(__doc__ or "", out="tutorial")
    options = parser.parse_args()
    common.use_tests_folder()
    from pages import blocks, commands  # needs the folder of the tests' support

    printed = {}
    environment = {
        **os.environ, "COLUMNS": "90", "TAICHIMD_RUNTIME": "quadrants", "CUDA_VISIBLE_DEVICES": "",
        "PYTHONPATH": str(common.ROOT),
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for kind, name, text in blocks(PAGE):
            if name:
                (Path(folder) / name).write_text(text, encoding="utf-8")
            for command in commands(text) if kind == "console" else ():
                if command.startswith(NOT_RUN):
                    continue
                arguments = [sys.executable, "-m", *shlex.split(command)]
                done = subprocess.run(
                    arguments, cwd=folder, env=environment, text=True, capture_output=True, check=True
                )
                printed[command] = [line.rstrip() for line in done.stdout.splitlines()]
                print(command, flush=True)
    common.write_json(options.out, {**common.provenance(), "printed": printed})


if __name__ == "__main__":
    main()
