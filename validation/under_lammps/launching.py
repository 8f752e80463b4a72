"""Workers in MPI processes, and what they leave."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from taichimd.lammps.launch import starter
from validation.common import ROOT


def run_workers(processes: int, **settings: Any) -> dict[str, Any]:
    """What a case has given in so many processes."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found.npz"
        file = Path(folder) / "settings.json"
        file.write_text(json.dumps({"processes": processes, "out": str(out), **settings}))
        command = [*starter(processes), sys.executable, "-m", "validation.under_lammps.worker", str(file)]
        child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if child.returncode:
            tail = (child.stderr.strip() + "\n" + child.stdout.strip()).splitlines()[-12:]
            raise RuntimeError(f"{settings['case']}, {processes} processes: " + " | ".join(tail))
        with np.load(out) as found:
            return dict(found)
