"""Where does the memory of a run go? Bytes per atom of each force field, from the arrays that a run holds.

    TAICHIMD_RUNTIME=quadrants python -m validation.benchmarks.memory

Each case is made at two sizes, with forces and some steps. An array counts with the difference of its
bytes over the difference of atoms, so that tables of fixed length vanish. `--pages` limits a page of a
list to so many numbers for each atom: then the arrays are those of 100 million atoms, where pairs alone
read the Verlet list on a CPU, too. A GPU keeps no bond order of each entry where rows have eight slots:
`on_a_gpu` leaves these out. `filled` is the part of the slots of the Verlet list that hold an entry.
"""

import argparse
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from validation import common, systems

CARD_BYTES = 80e9
KINDS = (
    ("rows of the Verlet list", ("verlet.entries",)),
    ("rows of near lists", (".near.entries", ".tuples.")),
    ("kept for each entry", (".kept.partial", ".kept.zeta", ".kept.reverse")),
    ("kept for each atom by force loops", (".kept.moments", ".kept.live", ".near.places", ".near.count")),
    ("search and sort", ("verlet.sort.", "verlet.count", "verlet.built_at", "listed_at", "spare.")),
    ("energies and virials", (".energy", ".virial")),
    ("atoms", ("state.",)),
)
"""Groups of arrays, by what their names have in them; the first that fits counts."""


def main() -> None:
    """Parse the command line, make the systems, write JSON, print a table."""
    options = parse()
    from taichimd.core import runtime

    runtime.start(options.backend)
    cases = {name: make(small, large) for name, make, small, large in CASES if name in options.cases}
    report: dict[str, Any] = {
        **common.provenance(runtime.info()),
        "numbers_of_a_page_per_atom": options.pages,
        "precision": options.precision,
        "steps": options.steps,
        "cases": {},
    }
    rows = []
    for name, (small, large) in cases.items():
        report["cases"][name] = found = measured(small, large, options)
        rows.append(
            (name, *(f"{found['by_kind'].get(kind, 0.0):.0f}" for kind, _ in KINDS),
             f"{found['by_kind'].get('other', 0.0):.0f}", f"{found['bytes_per_atom']:.0f}",
             f"{found['on_a_gpu']:.0f}",
             f"{found['filled']:.0%}", f"{found['atoms_in_80_GB'] / 1e6:.0f}")
        )  # fmt: skip
        if options.out:
            common.write_json(options.out, report)
    print(
        common.table(
            rows, ("case", *(kind for kind, _ in KINDS), "other", "all", "GPU", "filled", "million in 80 GB")
        )
    )


def measured(small: systems.System, large: systems.System, options: argparse.Namespace) -> dict[str, Any]:
    """Bytes per atom of all arrays, from two sizes of a system."""
    (n, few, _), (m, many, engine) = (held(one, options) for one in (small, large))
    arrays = {name: (size - few.get(name, 0)) / (m - n) for name, size in sorted(many.items())}
    arrays = {name: size for name, size in arrays.items() if size > 0.05}
    kinds: dict[str, float] = {}
    for name, size in arrays.items():
        kind = next((kind for kind, parts in KINDS if any(part in name for part in parts)), "other")
        kinds[kind] = kinds.get(kind, 0.0) + size
    lists, total = engine.device.lists, sum(arrays.values())
    verlet, near = lists.verlet, [one.near.width for one in lists.near if one.present]
    unused = sum(size for name, size in arrays.items() if name.endswith("kept.zeta") and max(near) <= 8)
    return {
        "atoms": [n, m],
        "cutoff_A": lists.cutoff,
        "outer_skin_A": lists.skins.outer,
        "slots": verlet.width,
        "near_slots": near,
        "pages": verlet.pages,
        "filled": float(verlet.count.to_numpy().mean()) / verlet.width,
        "bytes_per_atom": total,
        "by_kind": kinds,
        "by_array": arrays,
        "on_a_gpu": total - unused,
        "atoms_in_80_GB": CARD_BYTES / (total - unused),
    }


def held(system: systems.System, options: argparse.Namespace) -> tuple[int, dict[str, int], Any]:
    """Number of atoms, bytes of each array, and the engine, after some steps."""
    from taichimd.core.memory import bytes_of
    from taichimd.neighbours import pages
    from taichimd.program.engine import Engine

    if options.pages:
        pages.PAGE = options.pages * len(system.atoms)
    # As a GPU does it.
    how = {"precision": options.precision, "decomposition": "particle"}
    engine = Engine(system.atoms, system.forcefield(), **how)
    engine.advance(options.steps, system.timestep)
    engine.evaluate()
    found: dict[str, int] = {}
    for name, array in arrays_of(engine.systems):
        # Pages count together.
        whole = re.sub(r"(entries|tuples|partial)\.\d+$", r"\1", name)
        found[whole] = found.get(whole, 0) + bytes_of(array)
    return len(system.atoms), found, engine


def arrays_of(root: Any) -> Iterator[tuple[str, Any]]:
    """Name and array of all that an object of the package holds, each once, by the shortest way."""
    from taichimd.core.runtime import ti

    ndarray = ti.lang._ndarray.Ndarray
    waiting, seen = [("", root)], set[int]()
    while waiting:
        name, thing = waiting.pop(0)
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, ndarray):
            yield name, thing
        elif isinstance(thing, dict):
            waiting += [(f"{name}.{key}", value) for key, value in thing.items()]
        elif isinstance(thing, list | tuple):
            if len(thing) < 1000:
                waiting += [(f"{name}.{k}", value) for k, value in enumerate(thing)]
        elif type(thing).__module__.startswith("taichimd") and hasattr(thing, "__dict__"):
            waiting += [(f"{name}.{key}".lstrip("."), value) for key, value in vars(thing).items()]


def _cubes(make: Any, **settings: Any) -> Any:
    return lambda small, large: tuple(make(cells, **settings) for cells in (small, large))


def _silicon(potential: str) -> Any:
    return lambda small, large: tuple(
        systems.silicon((cells,) * 3, potential=potential) for cells in (small, large)
    )


def _charged_silica(cells: int) -> systems.System:
    """Beta-cristobalite of 300 K with ReaxFF; so many cubic cells (24 atoms) in each direction."""
    silica = systems.silica(cells)
    return replace(
        silica, forcefield=lambda: systems.shipped_forcefield("SiO.ffield"), timestep=0.25 * silica.timestep
    )


CASES = (
    ("lj, argon 8.5 Å", _cubes(systems.argon_liquid, reduced_timestep=0.002), 12, 16),
    ("tersoff, silicon", _silicon("Si.tersoff"), 10, 14),
    ("sw, silicon", _silicon("Si.sw"), 10, 14),
    ("vashishta, silica 10 Å", _cubes(systems.silica), 6, 8),
    ("reaxff, silica", _cubes(_charged_silica), 3, 4),
)
"""Name, what makes both systems, and their sizes along each axis."""


def parse() -> argparse.Namespace:
    """The command line."""
    parser = common.parser(__doc__)
    parser.add_argument("--backend", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--precision", default="float64")
    parser.add_argument("--cases", nargs="+", default=[name for name, *_ in CASES])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument(
        "--pages", type=int, default=40, help="numbers of a page for each atom; 0: as many as there can be"
    )
    parser.add_argument("--out", default=None, help="JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
