"""What a step on several GPUs should take: measured compute, atoms held twice, bytes, launches.

Two roads. All positions to all processes: one all-gather. Neighbours only: atoms of the two slabs beside.
"""

from dataclasses import dataclass
from typing import Any

from taichimd.neighbours.skins import MOST_INNER
from taichimd.parallel.held import margin_of
from validation import common
from validation.under_lammps.scaling import MATERIALS, time_per_atom

LINK = 300.0e9
"""Bytes a second that a GPU receives over NVLink in an all-gather. Assumed: two thirds of H100's 450 GB/s."""
LATENCY = 15.0e-6
"""Seconds of an all-gather of nothing. Assumed."""
LAUNCHES = 40.0e-6
"""Seconds of a step's kernels besides those of the forces. Assumed."""


@dataclass(frozen=True)
class Slabs:
    """A system cut into slabs.

    Attributes:
        atoms: of all. area: of a cut, square angstrom. density: atoms for each cubic angstrom.
        reach: angstrom beyond the slab within which a process holds atoms.
        rows_reach: the same of atoms whose terms it evaluates, too.
    """

    atoms: int
    area: float
    density: float
    reach: float
    rows_reach: float

    def _within(self, reach: float, gpus: int) -> float:
        beside = 2.0 * reach * self.area * self.density if gpus > 1 else 0.0
        return min(self.atoms / gpus + beside, float(self.atoms))

    def held(self, gpus: int) -> float:
        """Atoms that a process holds."""
        return self._within(self.reach, gpus)

    def evaluated(self, gpus: int) -> float:
        """Those whose terms it evaluates."""
        return self._within(self.rows_reach, gpus)

    def neighbours_ms(self, gpus: int) -> float:
        """Of an exchange with the processes of the two slabs beside, milliseconds."""
        beside = self.held(gpus) - self.atoms / gpus
        return 1e3 * (2.0 * LATENCY + 24.0 * beside / LINK) if gpus > 1 else 0.0


def predicted(system: Slabs, seconds_per_atom: float, gpus: int) -> dict[str, Any]:
    """Milliseconds of a step, of its exchange, and the efficiency beside one GPU.

    Args:
        system: as it is cut.
        seconds_per_atom: of a step of `Engine.advance` on one GPU.
        gpus: how many.
    """
    exchange = 0.0
    if gpus > 1:
        exchange = LATENCY + 24.0 * system.atoms * (gpus - 1) / gpus / LINK
    step = seconds_per_atom * system.evaluated(gpus) + exchange + LAUNCHES
    alone = seconds_per_atom * system.atoms
    return {
        "held_atoms": system.held(gpus), "evaluated_atoms": system.evaluated(gpus),
        "exchange_ms": 1e3 * exchange, "ms_per_step": 1e3 * step,
        "efficiency": alone / gpus / step,
    }  # fmt: skip


def slabs_of(name: str, atoms: int, gpus: int) -> Slabs:
    """A cube of a material, cut as `ParallelEngine` does."""
    material = MATERIALS[name]
    edge = (atoms / material.density) ** (1.0 / 3.0)
    margin = margin_of(material.cutoff, edge / gpus, not material.body)
    rows = material.body + MOST_INNER * material.cutoff + margin if material.body else 0.0
    return Slabs(atoms, edge**2, material.density, material.reach + margin, rows)


def main() -> None:
    """Command line."""
    parser = common.parser(__doc__)
    parser.add_argument("--atoms", type=int, nargs="+", default=[500_000, 4_000_000])
    parser.add_argument("--gpus", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--out", default=str(common.RESULTS / "several_gpus_model.json"))
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in ("Lennard-Jones", "Tersoff Si", "Vashishta SiO2"):
        per_atom = time_per_atom(MATERIALS[name].source)
        for atoms in options.atoms:
            for gpus in options.gpus:
                slabs = slabs_of(name, atoms, gpus)
                row = {"force_field": name, "atoms": atoms, "gpus": gpus, "engine_ms": 1e3 * per_atom * atoms}
                row |= predicted(slabs, per_atom, gpus)
                rows.append(row | {"neighbours_exchange_ms": slabs.neighbours_ms(gpus)})
    assumed = {"link_bytes_per_s": LINK, "latency_s": LATENCY, "launches_s": LAUNCHES}
    common.write_json(options.out, {"assumed": assumed, "predicted": rows})
    names = (
        "held_atoms",
        "evaluated_atoms",
        "engine_ms",
        "ms_per_step",
        "exchange_ms",
        "neighbours_exchange_ms",
        "efficiency",
    )
    print(
        common.table(
            [
                [
                    r["force_field"],
                    r["atoms"],
                    r["gpus"],
                    *(f"{r[n]:.3g}" for n in names),
                ]
                for r in rows
            ],
            ["force field", "atoms", "GPUs", *names],
        )
    )


if __name__ == "__main__":
    main()
