"""The page docs/measurements/reaxff.md, and its pictures, from the files of ReaxFF's measurements.

    python -m validation.reaxff.tables --page docs/measurements/reaxff.md --draw

Without options it prints the page. `--draw` draws figures 3 to 6. What there is no file of is left out.
Numbers of the paper are in paper.json.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from validation import common
from validation.reaxff import figures, texts, trajectories
from validation.reaxff.kernels import COMPONENTS

PAPER = json.loads(Path(__file__).with_name("paper.json").read_text())
CLOSEST = {
    "water 13,080": "water 10,008", "water 26,160": "water 25,050", "water 39,240": "water 36,045",
    "water 52,320": "water 50,097",
}  # fmt: skip
"""The paper's water next to a size of ours."""


def main() -> None:
    """Parse the command line, print or write the page, draw."""
    parser = common.parser(__doc__)
    parser.add_argument("--results", type=Path, default=common.RESULTS)
    parser.add_argument("--page", type=Path, help="write it there")
    parser.add_argument("--draw", action="store_true", help="draw the figures, too")
    options = parser.parse_args()
    found = Found(options.results)
    if not found.parts:
        raise SystemExit(f"no reaxff_paper_*.json in {options.results}; run validation.reaxff.gpu")
    if options.draw:
        for file in figures.draw(found, options.results):
            print(f"drawn: {file.name}")
    if options.page:
        options.page.write_text(page(found, options.results))
    else:
        print(page(found, options.results))


def page(found: "Found", results: Path) -> str:
    """The text of the page."""
    pieces = [texts.TITLE, f"Files: {', '.join(f'`{name}`' for name in found.files)}. {found.machines()}"]
    for title, text, table, picture in SECTIONS:
        rows = list(table(found))
        if len(rows) > 1:
            pieces += [f"## {title}", text, markdown(rows)]
            if picture and (results / f"{picture}.png").exists():
                pieces.append(f"![{title}](../../validation/results/{picture}.png)")
    return "\n\n".join(pieces) + "\n"


class Found:
    """The reports of all parts that there are files of.

    Args:
        results: folder with `reaxff_paper_cuda.json` and `reaxff_trajectories_*.json`.

    Attributes:
        files: names of the files.
        parts: reports by their names.
    """

    def __init__(self, results: Path) -> None:
        self.parts: dict[str, Any] = {}
        files = {name: sorted(results.glob(f"reaxff_{name}_*.json")) for name in ("paper", "trajectories")}
        self.files = [file.name for of in files.values() for file in of]
        for file in files["paper"]:
            self.parts |= json.loads(file.read_text())["parts"]
        for file in files["trajectories"]:
            self.parts[file.stem] = json.loads(file.read_text())

    def machines(self) -> str:
        """Which ones did the work."""
        devices = {common.device(part).split(",")[0] for part in self.parts.values() if "runtime" in part}
        return f"Devices: {', '.join(sorted(devices))}."

    def runs(self, backend: str) -> dict[str, Any]:
        """Trajectories of a backend under quadrants, as one report; the longest of each name."""
        cases: dict[str, Any] = {}
        report: dict[str, Any] = {"cases": cases}
        for part in self.parts.values():
            about = part.get("runtime", {})
            if "cases" in part and about["backend"] == backend and "quadrants" in about["runtime"]:
                report["runtime"] = about
                for name, case in part["cases"].items():
                    if len(case["snapshots"]) >= len(cases.get(name, {}).get("snapshots", ())):
                        cases[name] = case
        return report

    def rows(self, part: str, **what: Any) -> list[dict[str, Any]]:
        """Rows of a part of sizes, by values of their columns."""
        rows = self.parts.get(part, {}).get("rows", [])
        return [row for row in rows if all(row[key] == value for key, value in what.items())]

    @property
    def kernels(self) -> dict[str, Any]:
        """Cases of kernels with the variants that ran."""
        cases = self.parts.get("kernels", {}).get("results", {})
        return {
            case: {name: one for name, one in variants.items() if "loops" in one}
            for case, variants in cases.items()
        }


def markdown(rows: list[Any]) -> str:
    """A table; the first row is its head."""
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def same_energies(found: Found) -> Iterator[Any]:
    """Bits, and the largest difference over the standard deviation."""
    yield "run", "atoms", "steps", "CPU and GPU have the same bits", "largest difference / deviation", "paper"
    ours = trajectories.compare(found.runs("cpu"), found.runs("cuda"))
    columns = PAPER["energies_over_deviation"]
    for name, case in sorted(ours.items()):
        for step, at in case["at"].items():
            most = max(at["over_deviation"].values(), default=0.0)
            head = f"{case['system'].split()[0]} "
            theirs = [
                max(values[k] for key, values in columns.items() if key != "columns" and values[k])
                for k, column in enumerate(columns["columns"])
                if column.startswith(head) and column.endswith(f"after {int(step):,}")
            ]
            yield (
                name, f"{case['atoms']:,}", f"{int(step):,}", "yes" if at["same_state"] else "no",
                f"{most:.0e}" if most else "0", f"{theirs[0]:.0e}" if theirs else "",
            )  # fmt: skip


def conserved(found: Found) -> Iterator[Any]:
    """Drift of the conserved quantity, by a straight line."""
    yield (
        "run",
        "constants",
        "step (fs)",
        "charges to",
        "ps",
        "temperature (K)",
        "drift (µeV/atom/ps)",
        "fluctuation (meV/atom)",
    )
    runs = {**found.runs("cpu")["cases"], **found.runs("cuda")["cases"]}
    for name, case in sorted(runs.items()):
        if case["steps"] >= 10_000 and len(case["samples"]["step"]) > 10:
            slope, left = line_through(case)
            length = case["samples"]["step"][-1] * case["timestep_fs"] / 1000
            yield (
                name, f"`{case['constants']}`", case["timestep_fs"], f"{case['charge_tolerance']:.0e}",
                f"{length:g}", f"{np.mean(case['samples']['temperature_K']):.0f}",
                f"{1000 * slope:+.1f}", f"{left:.4f}",
            )  # fmt: skip


def line_through(case: dict[str, Any]) -> tuple[float, float]:
    """Slope (meV/atom/ps) of the conserved quantity, and what is left of it (meV/atom)."""
    samples = case["samples"]
    time = np.array(samples["step"]) * case["timestep_fs"] / 1000
    values = 1000 * np.array(samples["conserved_eV"]) / case["atoms"]
    slope, offset = np.polyfit(time, values, 1)
    return float(slope), float((values - slope * time - offset).std())


def sizes(found: Found) -> Iterator[Any]:
    """Milliseconds, and how many times faster than one and eight cores."""
    yield (
        "system", "settings", "tables, ms/step", "direct, ms/step", "over one core, tables", "direct",
        "over eight cores, tables", "direct", "paper's four",
    )  # fmt: skip
    for row in found.rows("sizes", pairs="tables"):
        same = {"system": row["system"], "settings": row["settings"]}
        ms = {pairs: _ms(found.rows("sizes", pairs=pairs, **same)) for pairs in ("tables", "direct")}
        ratios = [
            _ratio(_ms(found.rows(part, pairs=pairs, **same)), ms[pairs])
            for part in ("sizes, one core", "sizes, eight cores")
            for pairs in ("tables", "direct")
        ]
        paper = PAPER["speedup_over_cpu"].get(CLOSEST.get(row["system"], row["system"]), [])
        theirs = ", ".join(map(str, paper)) if row["settings"] == "paper" else ""
        each = [f"{value:.2f}" if value else "" for value in ms.values()]
        yield row["system"], row["settings"], *each, *ratios, theirs


def _ms(rows: list[dict[str, Any]]) -> float | None:
    return rows[0]["ms_per_step"] if rows else None


def _ratio(slow: float | None, fast: float | None) -> str:
    return f"{slow / fast:.0f}" if slow and fast else ""


def of_components(found: Found) -> Iterator[Any]:
    """Microseconds of the rows of the paper's table."""
    cases = {case: variants["usual"] for case, variants in found.kernels.items() if "usual" in variants}
    cases.pop("water 39,240", None)
    yield "component", *(f"{case}, µs/step" for case in cases), "paper, water, ms", "paper, silica, ms"
    for part in COMPONENTS if cases else ():
        paper = PAPER["components_ms"].get(part, ["", ""])
        yield part, *(f"{one['components_us'][part]:.0f}" for one in cases.values()), *paper


def threads(found: Found) -> Iterator[Any]:
    """Microseconds of the kernels that share rows."""
    yield "system", "kernel", *PAPER["threads"], "paper, ms"
    for case in ("water 6,540", "water 39,240"):
        variants = found.kernels.get(case, {})
        paper = PAPER["threads_ms"][CLOSEST.get(case, case)]
        for loops, name in (
            (("hydrogen bonds: donors", "hydrogen bonds: acceptors"), "hydrogen bonds"),
            (("charges: matrix",), ""),
            (("charges: product",), "charge equilibration"),
            (("van der Waals and Coulomb",), "Coulomb and van der Waals"),
        ):
            each = []
            for many in PAPER["threads"]:
                # Eight are usual; they were timed beside the others where a row says so.
                one = variants.get(f"threads {many}") or (variants.get("usual") if many == 8 else None)
                each.append(f"{sum(one['loops'][loop]['us'] for loop in loops):.0f}" if one else "")
            theirs = f"{name}: {', '.join(map(str, paper[name]))}" if name else ""
            if any(each):
                yield case, loops[0].removesuffix(": donors"), *each, theirs
        apart = [variants.get(f"threads {many}", {}).get("max_dx_A") for many in PAPER["threads"]]
        if any(one is not None for one in apart):
            yield case, "positions apart (Å)", *("" if one is None else f"{one:.0e}" for one in apart), ""


def atomics(found: Found) -> Iterator[Any]:
    """Microseconds with sums in order, and by atomics."""
    yield (
        "system",
        "term",
        "gather, µs",
        "float atomics, µs",
        "positions apart after 100 steps (Å)",
        "paper: more memory, ms",
        "paper: atomics, ms",
    )
    loops = {
        "torsions": ("torsions", "forces: ends of torsions"),
        "hydrogen bonds": ("hydrogen bonds: donors", "hydrogen bonds: acceptors", "hydrogen bonds: zeros"),
        "pairs": ("van der Waals and Coulomb", "van der Waals: zeros"),
    }
    for case, variants in found.kernels.items():
        for term, names in loops.items():
            if f"atomics {term}" in variants:
                us = [
                    sum(variants[v]["loops"].get(name, {"us": 0.0})["us"] for name in names)
                    for v in ("usual", f"atomics {term}")
                ]
                apart = variants[f"atomics {term}"].get("max_dx_A")
                paper = PAPER["atomics_ms"][term][::-1] if case == "water 6,540" else ("", "")
                yield (
                    case,
                    term,
                    f"{us[0]:.0f}",
                    f"{us[1]:.0f}",
                    f"{apart:.0e}" if apart is not None else "",
                    *paper,
                )


def blocks(found: Found) -> Iterator[Any]:
    """Microseconds by threads of a block."""
    variants = found.kernels.get("water 6,540", {})
    of = {n: variants.get("usual" if n == 128 else f"block {n}") for n in (32, 64, 128, 256, 512)}
    of = {n: one for n, one in of.items() if one}
    yield "component, µs/step", *of
    for part in COMPONENTS if len(of) > 1 else ():
        yield part, *(f"{one['components_us'][part]:.0f}" for one in of.values())


def memory(found: Found) -> Iterator[Any]:
    """Megabytes of structures, and kilobytes an atom."""
    systems = ("water 6,540", "silica 6,000", "water 52,320", "silica 48,000")
    rows = [row for s in systems for row in found.rows("sizes", system=s, settings="today", pairs="tables")]
    yield "structure, MB", *(row["system"] for row in rows), "paper, water", "paper, silica"
    if not rows:
        return
    paper = PAPER["memory_MB"]
    beside = {
        "Verlet list": "neighbour list", "near lists of bonds and of pairs": "hydrogen bond list",
        "charge matrix": "charge matrix", "bonds": "bond list", "ends of torsions": "three-body list",
        "all arrays": "total",
    }  # fmt: skip
    for name in rows[0]["memory_bytes"]:
        theirs = paper.get(beside.get(name, ""), ["", ""])
        yield name, *(f"{row['memory_bytes'][name] / 1e6:.1f}" for row in rows), *theirs
    each = [f"{row['memory_bytes']['all arrays'] / row['atoms'] / 1e3:.1f}" for row in rows]
    theirs = [f"{mb * 1e3 / n:.1f}" for mb, n in zip(paper["total"], (6540, 6000), strict=True)]
    yield "kB an atom", *each, *theirs


SECTIONS = (
    ("Same energies on CPU and GPU (table 7)", texts.ENERGIES, same_energies, None),
    ("Runs at 300 K (figure 6)", texts.CONSERVED, conserved, "reaxff_energies"),
    ("Time of a step by size (figures 3 and 4, tables 1 and 2)", texts.SIZES, sizes, "reaxff_sizes"),
    ("Time of each kernel (table 3)", texts.COMPONENTS, of_components, None),
    ("Threads of a row (table 4)", texts.THREADS, threads, None),
    ("Sums by float atomics (table 5)", texts.ATOMICS, atomics, None),
    ("Threads of a block (figure 5)", texts.BLOCKS, blocks, "reaxff_blocks"),
    ("Memory (table 6)", texts.MEMORY, memory, None),
)
"""Title, text, table and picture of each part of the page."""


if __name__ == "__main__":
    main()
