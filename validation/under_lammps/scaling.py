"""How well would 1,000 GPUs do a billion atoms? A model from measured times; its check: 1, 2, 4 processes.

Two roads. `under LAMMPS` is what there is: ghosts twice as far, positions and forces through the host, LAMMPS
moves the atoms. `on the device` is not written: ghosts once as far, forces of ghosts sent back, nothing goes
through the host.
"""

import json
from dataclasses import asdict, dataclass
from math import ceil, log2, prod
from typing import Any

from validation import common
from validation.under_lammps.cases import CASES, PROCESSORS

NETWORK = 40.0e9
"""Bytes a second for each GPU: 400 Gbit/s, of which 80 % are reached. Assumed."""
LATENCY = 5.0e-6
"""Seconds for a message. Assumed."""
MESSAGES = 6
"""For an exchange with neighbours: two along each direction."""
XRMD = {
    "weak_efficiency": 0.977, "cores": 786_432, "atoms": 67.6e9, "machine": "IBM Blue Gene/Q",
    "source": "Li et al., Comput. Sci. Eng. 21(5), 64 (2019), doi:10.1109/MCSE.2018.110150043",
}  # fmt: skip


@dataclass(frozen=True)
class Material:
    """What the model must know of a force field.

    Attributes:
        source: result, and keys to the row, of the measured time of a step on one GPU.
        density: atoms for each cubic angstrom.
        cutoff: longest, angstrom. body: of three-body terms, whose ghosts' forces are sent back; 0: none.
        skin: angstrom.
        iterations: of charges in a step.
    """

    source: tuple[str, str, int]
    density: float
    cutoff: float
    body: float
    skin: float = 1.0
    iterations: int = 0

    @property
    def reach(self) -> float:
        """Of ghosts under LAMMPS."""
        return max(self.cutoff, 2.0 * self.body)


MATERIALS = {
    "Lennard-Jones": Material(("benchmarks_h100", "lj-melt", 1_048_576), 0.8442, 2.5, 0.0, 0.3),
    "Tersoff Si": Material(("benchmarks_h100", "tersoff-si", 512_000), 8 / 5.432**3, 3.2, 3.2),
    "Vashishta SiO2": Material(("benchmarks_h100", "vashishta-sio2", 786_432), 24 / 7.16**3, 10.0, 2.6),
    "ReaxFF water": Material(("reaxff_speed_h100", "water 52,320", 52_320), 0.1003, 10.0, 5.0, 2.0, 3),
}


def time_per_atom(source: tuple[str, str, int]) -> float:
    """Seconds for an atom and a step, measured on one GPU."""
    name, case, atoms = source
    results = json.loads((common.RESULTS / f"{name}.json").read_text())["results"]
    if isinstance(results, dict):
        return float(results[case]["ms_per_step"] / results[case]["atoms"] * 1e-3)
    row = next(r for r in results if (r["case"], r["atoms"]) == (case, atoms))
    return float(row["ms_per_step"]["taichimd"] / atoms * 1e-3)


def ghosts(atoms: float, density: float, reach: float) -> float:
    """Around a cube of so many atoms."""
    edge = (atoms / density) ** (1.0 / 3.0)
    return density * ((edge + 2.0 * reach) ** 3 - edge**3)


@dataclass(frozen=True)
class Host:
    """What the host costs under LAMMPS.

    Attributes:
        copies: bytes a second between host and device.
        atom: seconds of LAMMPS for an atom and a step, without forces.
        source: where these come from.
    """

    copies: float
    atom: float
    source: str


def host() -> Host:
    """Measured on a GPU, if it was; else LAMMPS's time on a CPU and an assumed bandwidth."""
    for name in ("under_lammps_cuda", "under_lammps_cpu"):
        file = common.RESULTS / f"{name}.json"
        if file.exists():
            rows = [r for r in json.loads(file.read_text())["runs"] if r["processes"] == 1]
            row = max(rows, key=lambda r: r["local"])
            atom = 1e-3 * row["lammps_alone"] / row["local"]
            if name.endswith("cpu"):
                return Host(10e9, atom, f"{name}.json, {row['case']}; 10 GB/s is assumed")
            size = 24.0 * (2.0 * row["local"] + row["ghosts"])
            copies = size / (1e-3 * (row["positions"] + row["forces_back"]))
            return Host(copies, atom, f"{name}.json, {row['case']}")
    raise SystemExit("neither under_lammps_cuda.json nor under_lammps_cpu.json: run under_lammps.speed first")


def exchange(size: float, gpus: int) -> float:
    """Seconds to send so many bytes to the neighbours."""
    return size / NETWORK + MESSAGES * LATENCY if gpus > 1 else 0.0


def under_lammps(m: Material, n: float, gpus: int, of: Host) -> float | None:
    """Seconds of a step; None of a force field with charges."""
    if m.iterations:
        return None
    g = ghosts(n, m.density, m.reach + m.skin)
    total = time_per_atom(m.source) * (n + g) + 24.0 * (2.0 * n + g) / of.copies + n * of.atom
    return total + exchange(24.0 * g, gpus)


def on_device(m: Material, n: float, gpus: int) -> float:
    """Seconds of a step on the road that is not written."""
    g, back = (ghosts(n, m.density, r + m.skin) for r in (m.cutoff, m.body))
    total = time_per_atom(m.source) * n + exchange(24.0 * g, gpus)
    if m.body:
        total += exchange(24.0 * back, gpus)
    if m.iterations:
        sums = 2 * LATENCY * ceil(log2(gpus)) if gpus > 1 else 0.0
        total += (m.iterations + 1) * (exchange(8.0 * g, gpus) + sums)
    return total


def predictions(gpus: int, atoms: float, of: Host) -> list[dict[str, Any]]:
    """Efficiencies of both roads."""
    rows = []
    for name, m in MATERIALS.items():
        n = atoms / gpus
        own = time_per_atom(m.source) * n
        row: dict[str, Any] = {
            "force_field": name, "gpus": gpus, "atoms": atoms, "own_loop_ms": 1e3 * own,
            "ghost_fraction_under_lammps": ghosts(n, m.density, m.reach + m.skin) / n,
            "ghost_fraction_on_device": ghosts(n, m.density, m.cutoff + m.skin) / n,
        }  # fmt: skip
        for road, time in (
            ("under_lammps", lambda p, m=m, n=n: under_lammps(m, n, p, of)),
            ("on_device", lambda p, m=m, n=n: on_device(m, n, p)),
        ):
            many, one = time(gpus), time(1)
            if many is not None and one is not None:
                row[road] = {
                    "ms_per_step": 1e3 * many, "weak_efficiency": one / many, "of_own_loop": own / many,
                    "atom_steps_per_s": atoms / many,
                }  # fmt: skip
        rows.append(row)
    return rows


def check() -> list[dict[str, Any]]:
    """Measured runs beside the model: ghosts by geometry, time by the atoms and ghosts of one process."""
    rows = []
    for name in ("under_lammps_cuda", "under_lammps_cpu"):
        file = common.RESULTS / f"{name}.json"
        if not file.exists():
            continue
        result = json.loads(file.read_text())
        for row in result["runs"]:
            p = row["processes"]
            one = next(r for r in result["runs"] if r["case"] == row["case"] and r["processes"] == 1)
            # Each process has one thread or one GPU, until they share cores.
            cores = result["provenance"]["machine"]["cores"] if name.endswith("cpu") else p
            work = max(p / cores, 1.0) * (row["local"] + row["ghosts"]) / (one["local"] + one["ghosts"])
            unit = CASES[row["case"]](2).atoms
            edge = unit.cell.lengths()[0] / 2 * round((8.0 * row["local"] * p / len(unit)) ** (1.0 / 3.0))
            parts = [edge / int(k) + 2.0 * (row["reach"] + result["skin_A"]) for k in PROCESSORS[p].split()]
            density = len(unit) / unit.get_volume()
            rows.append(
                {
                    "result": name,
                    "case": row["case"],
                    "processes": p,
                    "ghosts": row["ghosts"],
                    "predicted_ghosts": density * prod(parts) - row["local"],
                    "evaluate_ms": row["evaluate"],
                    "predicted_ms": work * one["evaluate"],
                }
            )
    return rows


def main() -> None:
    """Command line."""
    parser = common.parser(__doc__)
    parser.add_argument("--gpus", type=int, nargs="+", default=[8, 1000])
    parser.add_argument("--atoms-per-gpu", type=float, default=1e6)
    parser.add_argument("--out", default=str(common.RESULTS / "scaling.json"))
    options = parser.parse_args()
    of = host()
    rows = [row for p in options.gpus for row in predictions(p, options.atoms_per_gpu * p, of)]
    assumed = {"network_bytes_per_s": NETWORK, "latency_s": LATENCY, "messages": MESSAGES, "host": asdict(of)}
    materials = {name: {**asdict(m), "s_per_atom": time_per_atom(m.source)} for name, m in MATERIALS.items()}
    common.write_json(
        options.out,
        {"assumed": assumed, "materials": materials, "predicted": rows, "check": check(), "xrmd": XRMD},
    )
    header = ["force field", "GPUs", "ghosts", "LAMMPS: ms", "weak", "of own", "device: ms", "weak", "of own"]
    names = ("ms_per_step", "weak_efficiency", "of_own_loop")
    blank = dict.fromkeys(names, float("nan"))
    shown = [
        [r["force_field"], r["gpus"], f"{r['ghost_fraction_under_lammps']:.3f}"]
        + [f"{r.get(road, blank)[name]:.3g}" for road in ("under_lammps", "on_device") for name in names]
        for r in rows
    ]
    print(common.table(shown, header))


if __name__ == "__main__":
    main()
