"""How fast is taichimd beside other programs? One picture of all measurements, also of those that it loses.

    python -m validation.benchmarks.speed_chart

It measures nothing: the rows are those of the files that `rows` reads.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from validation import common

HERE = Path(__file__).parent
SYSTEMS = {
    "tersoff-si": "Tersoff Si",
    "sw-si": "Stillinger-Weber Si",
    "vashishta-sio2": "Vashishta SiO₂",
    "lj-melt": "Lennard-Jones melt",
    "lj-argon": "Lennard-Jones argon",
}
COLOURS = {True: "#1f6fb4", False: "#c8402f"}
"""Of rows where taichimd is faster, and of the others."""


class Row(NamedTuple):
    """A measurement of taichimd and of the fastest other program."""

    system: str  # in words
    atoms: int  # of the system
    ours: float  # ms a step
    theirs: float  # ms a step
    peer: str  # the other program

    @property
    def factor(self) -> float:
        """Times as fast as the other program."""
        return self.theirs / self.ours


def read(name: str) -> dict[str, Any]:
    """A result file."""
    return common.read_json(common.RESULTS / f"{name}.json")


def anchors() -> dict[str, Any]:
    """Measurements of other programs on another H100."""
    found: dict[str, Any] = json.loads((HERE / "anchors.json").read_text(encoding="utf-8"))
    return found


def gpu_rows() -> list[Row]:
    """Rows of one H100, of the systems that another program was measured with."""
    known = anchors()
    beside = {(one["case"], one["atoms"]): one["gpumd_us"] / 1e3 for one in read("gpumd_beside")["results"]}
    rows = []
    for one in read("benchmarks_h100")["results"]:
        case, atoms = one["case"], one["atoms"]
        peers = {
            "LAMMPS": known["ms_per_step"].get(case, {}).get(str(atoms)),
            "GPUMD": beside.get((case, atoms)),
        }
        rows += _row(SYSTEMS[case], atoms, one["ms_per_step"]["taichimd"], peers)
    of_reaxff = read("reaxff_speed_h100")["results"]
    for system in ("water", "silica"):
        for atoms in known["ms_per_step"][f"reaxff-{system}"]:
            peers = {
                "LAMMPS": known["ms_per_step"][f"reaxff-{system}"][atoms],
                "PuReMD": known["puremd_ms_per_step"].get(f"reaxff-{system}", {}).get(atoms),
            }
            ours = of_reaxff[f"{system} {int(atoms):,}"]["ms_per_step"]
            rows += _row(f"ReaxFF {system}", int(atoms), ours, peers)
    return [*_sorted(rows), inside_lammps()]


def inside_lammps() -> Row:
    """Silicon on one H100 whose atoms LAMMPS moves (`taichimd lammps`), beside LAMMPS-KOKKOS alone."""
    case = "tersoff-si"
    chosen = [
        one
        for one in read("under_lammps_h100")["runs"]
        if one["case"] == case and one["processes"] == 1 and one["local"] == 512_000
    ]
    ours, theirs = chosen[0]["ms_per_step"], anchors()["ms_per_step"][case]["512000"]
    return Row(f"{SYSTEMS[case]} inside LAMMPS", 512_000, ours, theirs, "LAMMPS")


def cpu_rows() -> list[Row]:
    """Rows of two CPU cores, beside LAMMPS with OpenMP."""
    rows = []
    for one in read("cpu_ratios")["results"]:
        times = one["ms_per_step"]
        rows += _row(
            SYSTEMS[one["case"]], one["atoms"], times["taichimd"], {"LAMMPS": times["lammps -sf omp"]}
        )
    for name, one in read("reaxff_cpu_speed")["results"].items():
        system, atoms = name.rsplit(" ", 1)
        times = one["ms_per_step"]
        rows += _row(
            f"ReaxFF {system}", int(atoms.replace(",", "")), times["taichimd"], {"LAMMPS": times["lammps"]}
        )
    return _sorted(rows)


def _row(system: str, atoms: int, ours: float, peers: dict[str, float | None]) -> list[Row]:
    """The row beside the fastest of the programs that were measured; none without any."""
    known = {name: time for name, time in peers.items() if time}
    if not known:
        return []
    peer = min(known, key=lambda name: known[name])
    return [Row(system, atoms, ours, known[peer], peer)]


def _sorted(rows: list[Row]) -> list[Row]:
    order = list(dict.fromkeys([*SYSTEMS.values(), *(row.system for row in rows)]))
    return sorted(rows, key=lambda row: (order.index(row.system), row.atoms))


def draw(target: Path) -> None:
    """Draw both panels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.5, 6.4), dpi=110, layout="constrained")
    on_gpu, on_cpu = figure.subplots(1, 2)
    _panel(on_gpu, gpu_rows(), "One NVIDIA H100, beside the fastest of LAMMPS-KOKKOS, GPUMD, PuReMD-GPU")
    _panel(on_cpu, cpu_rows(), "Two CPU cores (AMD EPYC), beside LAMMPS with OpenMP")
    figure.suptitle(
        "How many times as fast is taichimd? float64, constant energy, time of a step; "
        "right of 1: taichimd is faster, left of 1 (red): it is slower",
        fontsize=11,
    )
    figure.savefig(target, metadata={"Software": None})


def _panel(axis: Any, rows: list[Row], title: str) -> None:
    """Bars from 1 to the factor, with the times of both programs."""
    for place, row in enumerate(rows):
        colour = COLOURS[row.factor >= 1.0]
        axis.barh(place, row.factor - 1.0, left=1.0, color=colour, height=0.7)
        text = f"{row.factor:.2g}   ({_time(row.ours)}, {row.peer} {_time(row.theirs)})"
        axis.annotate(
            text,
            (max(row.factor, 1.0), place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    labels = [f"{row.system}, {row.atoms:,}" for row in rows]
    axis.set_yticks(range(len(rows)), labels, fontsize=8.5)
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.set_xlim(0.6 * min(0.5, *(row.factor for row in rows)), 130.0)
    ticks = [tick for tick in (0.02, 0.1, 0.5, 1, 2, 5, 10) if tick > axis.get_xlim()[0]]
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    axis.axvline(1.0, color="black", linewidth=1.0)
    axis.set_xlabel("times as fast")
    axis.set_title(title, fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)


def _time(milliseconds: float) -> str:
    return f"{1e3 * milliseconds:.3g} µs" if milliseconds < 1.0 else f"{milliseconds:.3g} ms"


def main() -> None:
    """Parse the command line and draw."""
    parser = common.parser(__doc__)
    parser.add_argument("--out", type=Path, default=common.RESULTS / "speed.png")
    options = parser.parse_args()
    draw(options.out)
    rows = [(row.system, row.atoms, row.peer, f"{row.factor:.3g}") for row in [*gpu_rows(), *cpu_rows()]]
    print(common.table(rows, ("system", "atoms", "beside", "times as fast")))


if __name__ == "__main__":
    main()
