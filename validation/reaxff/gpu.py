"""Everything about ReaxFF that needs a GPU, in one command with a time limit; a short table last.

    TAICHIMD_RUNTIME=quadrants python -m validation.reaxff.gpu --data FOLDER --out DIR

FOLDER as in `validation.reaxff.systems`. First the bits of CPU and GPU (table 7) and runs through time
(figure 6), side by side. Then speed by size and time of each kernel (figures 3 to 5, tables 1 to 6), by
processes that compile side by side and measure in turn. One core of the CPU has been timed meanwhile, eight
are timed last. What is not done in time is left out. All is in one file, `reaxff_paper_<backend>.json`,
with a report of each part. No LAMMPS, no network.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from validation import common
from validation.reaxff import trajectories
from validation.reaxff.systems import LOCK


@dataclass
class Part:
    """A driver of a phase.

    Attributes:
        name: of the part. module: of `validation.reaxff`. arguments: besides data and result.
        environment: variables of its own.
    """

    name: str
    module: str
    arguments: str
    environment: dict[str, str] = field(default_factory=dict)


def phases(backend: str, quick: bool) -> list[tuple[float, list[Part]]]:
    """What runs side by side, and by when it must have ended, seconds from the start."""
    on = f"--backend {backend}" + (" --quick" if quick else "")
    on_cpu = "--backend cpu" + (" --quick" if quick else "")
    one, eight = {"TAICHIMD_THREADS": "1"}, {"TAICHIMD_THREADS": "8"}
    cases = {
        "a": ["water 300"],
        "b": ["silica 192", "water 300, thousand"],
        "c": ["water 6,540", "silica 6,000", "water 6,540, long"],
        "d": ["silica 6,000, long", "water 6,540, long, consistent"],
        "e": ["water 6,540", "silica 6,000"],
    }
    of = {name: "--cases " + " ".join(f"'{case}'" for case in these) for name, these in cases.items()}
    runs = [Part(f"gpu {name}", "trajectories", f"{on} {of[name]}") for name in "abcd"]
    runs += [
        Part(
            f"cpu {name}", "trajectories", f"{on_cpu} --steps 10000 {of[name]}", {"TAICHIMD_THREADS": threads}
        )
        for name, threads in (("a", "2"), ("b", "2"), ("e", "3"))
    ]
    if "taichi" in common.installed_runtimes():
        taichi = {"TAICHIMD_RUNTIME": "taichi", "TAICHIMD_THREADS": "1"}
        runs += [
            Part(f"{name} taichi", "trajectories", f"{its} --cases 'water 300, thousand'", taichi)
            for name, its in (("gpu", on), ("cpu", on_cpu))
        ]
    few = "--sizes 0 2 4"
    one_core = Part("sizes, one core", "scaling", f"{on_cpu} {few} --at-once 4", one)
    timed = [
        Part("sizes", "scaling", f"{on} --at-once 4"),
        Part("kernels", "kernels", f"{on} --at-once 6"),
    ]
    sizes = f"{on_cpu} --sizes 0 4 --settings paper --at-once 2"
    last = [Part("sizes, eight cores", "scaling", sizes, eight)]
    if quick:
        return [(1e6, runs[:1]), (1e6, timed)]
    return [(230, [*runs, one_core]), (410, timed), (460, last)]


def main() -> None:
    """Parse the command line, run the phases, write one file, print tables."""
    parser = common.parser(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder")
    parser.add_argument("--backend", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--quick", action="store_true", help="the smallest systems, few steps")
    parser.add_argument("--parts", nargs="+", help="these alone, by their names")
    options = parser.parse_args()
    began, report = time.monotonic(), {"parts": {}, "not_ended": []}
    target = options.out / f"reaxff_paper_{options.backend}.json"
    with tempfile.TemporaryDirectory() as folder:
        os.environ[LOCK] = str(Path(folder) / "lock")
        for end, parts in phases(options.backend, options.quick):
            chosen = [part for part in parts if not options.parts or part.name in options.parts]
            running = {part.name: start(part, options.data, Path(folder)) for part in chosen}
            for name, process in running.items():
                if not wait(process, end - (time.monotonic() - began)):
                    report["not_ended"].append(name)
                file = Path(folder) / f"{name}.json"
                if file.exists():
                    report["parts"][name] = json.loads(file.read_text())
                log = (Path(folder) / f"{name}.log").read_text().strip().splitlines()
                if process.returncode:
                    print(f"{name} ended with {process.returncode}:", *log[-4:], sep="\n  ")
                print(f"{time.monotonic() - began:5.0f} s  {name}", flush=True)
            report["compared"] = compared(report["parts"])
            head = next(iter(report["parts"].values()), {})
            keys = ("date", "machine", "runtime", "versions", "commit")
            common.write_json(
                target, {**{k: head.get(k) for k in keys}, "command": common.command_line(), **report}
            )
    show(report)
    print(f"written: {target.name}")


def start(part: Part, data: Path, folder: Path) -> subprocess.Popen[bytes]:
    """Begin a part, in a group of processes of its own."""
    command = [sys.executable, "-m", f"validation.reaxff.{part.module}", "--data", str(data)]
    command += [*shlex.split(part.arguments), "--out", str(folder / f"{part.name}.json")]
    with open(folder / f"{part.name}.log", "w") as log:
        return subprocess.Popen(
            command,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **part.environment},
            start_new_session=True,
        )


def wait(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether a part ends in time; else it is stopped, with the processes that it has started."""
    try:
        process.wait(max(seconds, 0.1))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        return False
    return True


def compared(parts: dict[str, Any]) -> dict[str, Any]:
    """States and energies of CPU and GPU after the same steps, of each run that both have done."""
    found: dict[str, Any] = {}
    for runtime in ("", " taichi"):
        names = [
            name for name in parts if "cases" in parts[name] and name.endswith("taichi") == bool(runtime)
        ]
        sides = {
            side: {
                **parts[min(names)],
                "cases": {
                    k: v for name in names if name.startswith(side) for k, v in parts[name]["cases"].items()
                },
                "runtime": next(parts[name]["runtime"] for name in names if name.startswith(side)),
            }
            for side in ("cpu", "gpu")
            if any(name.startswith(side) for name in names)
        }
        if len(sides) == 2:
            found |= {
                f"{name}{runtime}": of
                for name, of in trajectories.compare(sides["cpu"], sides["gpu"]).items()
            }
    return found


def show(report: dict[str, Any]) -> None:
    """Short tables: bits, runs, speed, kernels."""
    from validation.reaxff.kernels import COMPONENTS
    from validation.reaxff.scaling import line_of

    if report["not_ended"]:
        print("not ended in time:", ", ".join(report["not_ended"]))
    trajectories.show({"cases": report["compared"]})
    for name, part in report["parts"].items():
        for case, of in part.get("cases", {}).items():
            print(f"{name}: {case}: {of['ms_per_step']:.3f} ms/step, {trajectories.conserved(of['samples'])}")
        for row in part.get("rows", ()):
            if row["atoms"] < 7000 or row["atoms"] > 45000:
                print(f"{name}: {line_of(row)}")
        for case, variants in part.get("results", {}).items():
            done = {v: found for v, found in variants.items() if "loops" in found}
            rows = [(c, *(f"{found['components_us'][c]:.0f}" for found in done.values())) for c in COMPONENTS]
            print(common.table(rows, (case, *done)))
            print({v: found.get("max_dx_A", found.get("failed")) for v, found in variants.items()})


if __name__ == "__main__":
    main()
