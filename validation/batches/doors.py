"""Many systems by relax, kappa, run and mc: the bits of each alone, and the time beside one after the other.

    export TAICHIMD_RUNTIME=quadrants
    python -m validation.batches.doors --backend cpu --systems 4
    python -m validation.batches.doors --backend cuda --against batch_doors_cpu.json

relax: displaced silicon (Stillinger-Weber, 216 atoms each) to 1e-3 eV/angstrom, with the cell held and with
it. kappa: Green-Kubo runs of 216 atoms of silicon, 1 + 4 ps. run: replicas of 216 atoms, Langevin, 2,000
steps with all files of `taichimd run`; the same with npt-scr. mc: chains of 216 atoms, 200 sweeps of moves of
all atoms and of the volume. Seconds are wall clock in one process, kernels compiled before.
SHA-256 of the first four systems can be compared with another backend's.
"""

import contextlib
import io
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms

from validation import common
from validation.batches.__main__ import silicon

HASHED = 4


def main() -> None:
    """Parse the command line, run the parts, write JSON as it grows, print a table."""
    parser = common.parser(__doc__, "backend", "out")
    parser.add_argument("--systems", type=int, default=32)
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--against", type=Path, help="the JSON of another backend, whose bits are compared")
    options = parser.parse_args()
    from taichimd.core import runtime

    backend = runtime.start(options.backend)
    out = options.out or common.RESULTS / f"batch_doors_{backend}.json"
    theirs = common.hashes_of(options.against, "doors")
    report: dict[str, Any] = common.provenance() | {"systems": options.systems, "doors": {}}
    for name in options.parts:
        found = report["doors"][name] = PARTS[name](options.systems)
        if name in theirs:
            found["as_other_backend"] = found["sha256"] == theirs[name]["sha256"]
        common.write_json(out, report)
    rows = [
        (name, f"{of['as_alone']} of {of['systems']}", f"{of['together_s']:.2f}", f"{of['alone_s']:.2f}",
         f"{of['alone_s'] / of['together_s']:.2f}", of.get("as_other_backend", "-"))
        for name, of in report["doors"].items()
    ]  # fmt: skip
    print(
        common.table(rows, ("door", "bits as alone", "together (s)", "alone (s)", "ratio", "other backend"))
    )


def compared(
    n: int, together: Callable[[int], list[np.ndarray]], alone: Callable[[int], np.ndarray]
) -> dict[str, Any]:
    """Bits and seconds of n systems in one launch and one after the other, both compiled before."""
    together(2), alone(0)
    begin = time.perf_counter()
    found = together(n)
    middle = time.perf_counter()
    expected = [alone(number) for number in range(n)]
    end = time.perf_counter()
    same = sum(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
    hashes = [common.sha(one) for one in found[:HASHED]]
    times = {"together_s": middle - begin, "alone_s": end - middle}
    return {"systems": n, "as_alone": same, **times, "sha256": hashes}


def displaced(number: int) -> Atoms:
    """A crystal that is another one for each number."""
    return silicon(3, number + 1, 300.0)


def of_relax(n: int, **options: Any) -> dict[str, Any]:
    """Positions and cells of relaxed structures."""
    from taichimd import relax

    def numbers(found: Any) -> np.ndarray:
        return np.vstack([found.atoms.positions, found.atoms.cell.array])

    def together(count: int) -> list[np.ndarray]:
        given: Any = [displaced(number) for number in range(count)]
        found: Any = relax(given, "Si.sw", fmax=1e-3, **options)
        return [numbers(one) for one in found]

    return compared(
        n, together, lambda number: numbers(relax(displaced(number), "Si.sw", fmax=1e-3, **options))
    )


def of_kappa(n: int) -> dict[str, Any]:
    """Samples of the heat current."""
    from taichimd import load_forcefield
    from taichimd.transport.kappa import supercell
    from taichimd.transport.sampling import sample_runs
    from taichimd.transport.settings import KappaSettings

    settings = KappaSettings(temperature=600.0, equilibrate="1ps", time="4ps", supercell=(1, 1, 1))
    system, potential = supercell(displaced(0), settings), load_forcefield("Si.sw")

    def together(count: int) -> list[np.ndarray]:
        found = sample_runs(system, potential, settings, range(count))
        assert found is not None
        return [one.current for one in found]

    def alone(number: int) -> np.ndarray:
        found = sample_runs(system, potential, settings, [number])
        assert found is not None
        return found[0].current

    return compared(n, together, alone)


def of_mc(n: int) -> dict[str, Any]:
    """Positions, cells and energies of chains."""
    from taichimd.sampling.chain import MonteCarlo
    from taichimd.sampling.tempering import Chains

    def chain(number: int) -> MonteCarlo:
        options: dict[str, Any] = {"pressure": 0.1, "move": 0.005, "volume_move": 0.002, "equilibration": 100}
        return MonteCarlo(displaced(0), "Si.sw", temperature=300.0 + 20.0 * number, seed=number, **options)

    def numbers(one: MonteCarlo) -> np.ndarray:
        return np.vstack([one.positions(), one.cell, np.full(3, one.energy)])

    def together(count: int) -> list[np.ndarray]:
        chains = [chain(number) for number in range(count)]
        Chains(chains).advance(200)
        return [numbers(one) for one in chains]

    def alone(number: int) -> np.ndarray:
        one = chain(number)
        one.advance(200)
        return numbers(one)

    return compared(n, together, alone)


def of_run(n: int, *ensemble: str) -> dict[str, Any]:
    """The rows of thermo.csv."""
    from taichimd.cli.app import main as taichimd
    from taichimd.io.thermo import read_thermo

    common_options = ["--potential", "Si.sw", "--ensemble", *ensemble, "--steps", "2000", "--quiet"]

    def rows(folder: Path) -> np.ndarray:
        return np.array(list(read_thermo(folder / "thermo.csv").values()))

    def command(where: Path, *options: str) -> None:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            taichimd(["run", str(structure), "--output", str(where), *common_options, *options])

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        structure, calls = folder / "silicon.extxyz", iter(range(10**6))
        displaced(0).write(structure)
        bare = displaced(0)
        bare.arrays.pop("momenta", None)
        bare.write(structure)

        def together(count: int) -> list[np.ndarray]:
            where = folder / f"together{next(calls)}"
            command(where, "--replicas", str(count))
            return [rows(one) for one in sorted(where.iterdir()) if one.is_dir()]

        def alone(number: int) -> np.ndarray:
            where = folder / f"alone{next(calls)}"
            command(where, "--seed", str(number + 1))
            return rows(where)

        return compared(n, together, alone)


PARTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "relax": of_relax,
    "relax with cell": lambda n: of_relax(n, cell="full"),
    "kappa": of_kappa,
    "run": lambda n: of_run(n, "nvt-langevin"),
    "run with barostat": lambda n: of_run(n, "npt-scr", "--bulk-modulus", "98"),
    "mc": of_mc,
}

if __name__ == "__main__":
    main()
