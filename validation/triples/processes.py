"""Figure 9 of Yaseen, Ji, Li (2015): the energy of all triples by several processes, one GPU each.

    python -m validation.triples.processes --backend cuda --np 1 2 4 --atoms 8000 --out FILE

All processes compile and warm up, then begin at one time; a round ends with the last of them. The bits of the
sum of their parts must be the same for any number. Without MPI: pipes. On a CPU a process has one thread.
"""

import json
import os
import subprocess
import sys
from time import perf_counter
from typing import Any

from validation import common

ROUNDS = 5


def serve(backend: str, side: int, number: int, of: int) -> None:
    """Of a child: what it runs on once compiled, then for each line that comes the part and its seconds."""
    from taichimd.core.runtime import info
    from validation.triples.systems import triple_sum

    sums = triple_sum(side, backend)
    sums.part(number, of)
    print(json.dumps(info()), flush=True)
    for _ in sys.stdin:
        begun = perf_counter()
        part = sums.part(number, of)
        print(json.dumps({"part": part, "seconds": perf_counter() - begun}), flush=True)


def environment(backend: str, number: int) -> dict[str, str]:
    """Of the child of that number: the next of the visible GPUs, or one thread."""
    given = dict(os.environ)
    if backend != "cuda":
        return given | {"TAICHIMD_THREADS": "1"}
    visible = [one for one in given.get("CUDA_VISIBLE_DEVICES", "").split(",") if one]
    if not visible:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout
        visible = [str(k) for k in range(len(listed.strip().splitlines()))]
    return given | {"CUDA_VISIBLE_DEVICES": visible[number % len(visible)]}


def measured(backend: str, side: int, of: int) -> dict[str, Any]:
    """Energy (bits) and seconds of that many processes."""
    module = [
        sys.executable,
        "-m",
        "validation.triples.processes",
        "--backend",
        backend,
        "--atoms",
        str(side**3),
    ]
    children = [
        subprocess.Popen(
            [*module, "--part", str(number), str(of)], cwd=common.ROOT, env=environment(backend, number),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for number in range(of)
    ]  # fmt: skip
    try:
        runtimes, rounds = [json.loads(told(child)) for child in children], []
        for _ in range(ROUNDS):
            begun = perf_counter()
            for child in children:
                assert child.stdin is not None
                child.stdin.write("go\n")
                child.stdin.flush()
            found = [json.loads(told(child)) for child in children]
            rounds.append((perf_counter() - begun, found))
    finally:
        for child in children:
            child.terminate()
            child.wait()
    from taichimd.program.triple_energy import in_ev

    took, best = min(rounds, key=lambda one: one[0])
    energies = {in_ev(*(tuple(one["part"]) for one in found)).hex() for _, found in rounds}
    return {
        "runtime": runtimes[0], "processes": of, "seconds": took,
        "seconds_of_parts": [one["seconds"] for one in best],
        "seconds_of_rounds": [one for one, _ in rounds], "energies": sorted(energies),
    }  # fmt: skip


def told(child: Any) -> str:
    """The next line of a child that is JSON; an error if it has ended."""
    while line := child.stdout.readline():
        if line.startswith("{"):
            return str(line)
    raise RuntimeError(f"a process ended with {child.wait()}; see what it wrote above")


def main() -> None:
    """Measure, compare bits, write after each number, print."""
    parser = common.parser(__doc__, out="triples_processes")
    parser.add_argument("--backend", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--np", type=int, nargs="+", default=[1, 2], dest="numbers")
    parser.add_argument("--atoms", type=int, default=8000, help="a cube of a whole number")
    parser.add_argument("--part", type=int, nargs=2, help="be the child with that part")
    chosen = parser.parse_args()
    side = round(chosen.atoms ** (1 / 3))
    if side**3 != chosen.atoms:
        parser.error(f"--atoms {chosen.atoms}: expected a cube of a whole number, as {side**3}")
    if chosen.part:
        serve(chosen.backend, side, *chosen.part)
        return
    rows: list[dict[str, Any]] = []
    for of in chosen.numbers:
        rows.append(measured(chosen.backend, side, of))
        # A runtime of this process would take memory of the first GPU.
        head = common.provenance(rows[0]["runtime"])
        rows[-1]["speedup"] = rows[0]["seconds"] * rows[0]["processes"] / rows[-1]["seconds"]
        same = len({energy for row in rows for energy in row["energies"]}) == 1
        common.write_json(
            chosen.out, head | {"backend": chosen.backend, "atoms": side**3, "same_bits": same, "runs": rows}
        )
    print(
        common.table(
            [
                [
                    row["processes"],
                    f"{row['seconds']:.4g}",
                    f"{max(row['seconds_of_parts']):.4g}",
                    f"{row['speedup']:.2f}",
                ]
                for row in rows
            ],
            ["processes", "seconds", "longest part, s", "speed-up"],
        )
    )
    print("same bits" if same else "BITS DIFFER")
    sys.exit(not same)


if __name__ == "__main__":
    main()
