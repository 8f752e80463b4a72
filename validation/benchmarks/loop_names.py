"""What each parallel loop of a step does: names instead of the numbers that the runtimes' profilers give.

A profiler knows the loops of a kernel by their order in the source (`program/steps/verlet.py`, without loops
on the device). `names` says which there are for an engine in NVE, one step a pass; `number` takes the
order from a profiler's name.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

KERNEL = "unrolled_steps"
LISTS = "lists: "
"""Names of loops that work only when the near list is cut begin so."""


@dataclass(frozen=True)
class Layout:
    """What decides which loops there are.

    Attributes:
        pair: whether there is a pair term.
        body: "", "angle", "triplet" or "bond order".
        near_list: whether loops read a near list.
        by_tuple: tuple decomposition.
        short: whether the three-body term has a near list of its own.
        lanes: threads that share an atom's pairs. shared: whether they share one in cuts.
    """

    pair: bool
    body: str
    near_list: bool
    by_tuple: bool
    short: bool
    lanes: int
    shared: bool


def layout(engine: Any) -> Layout:
    """The layout of an engine."""
    from taichimd.enumerate import threads_per_atom
    from taichimd.neighbours import rows
    from taichimd.program.decomposition import by_tuple as by_tuple_of

    terms = engine.forcefield.bind(sorted(set(engine.symbols)))[0].terms
    by_tuple = engine.decomposition == "tuple"
    bodies = {"angle": terms.angle, "triplet": terms.triplet, "bond order": terms.bond_order}
    return Layout(
        pair=terms.pair is not None,
        body=next((name for name, term in bodies.items() if term is not None), ""),
        near_list=engine.device.lists.near_list,
        by_tuple=by_tuple,
        short=bool(terms.short_body),
        lanes=threads_per_atom.threads_for(
            terms, engine.backend, engine.n_atoms, False, by_tuple_of(engine.decomposition, terms)
        ),
        shared=rows.row_layout(engine.backend) == rows.CHUNKED,
    )


def names(of: Layout) -> list[str]:
    """The parallel loops of a pass, in order."""
    found = _list_loops(of) if of.near_list else []
    # Pairs of a force field whose three-body term has lists of its own are added when forces are gathered.
    apart = of.short or (of.by_tuple and bool(of.body) and of.pair)
    moments = of.body == "angle" and not of.by_tuple
    if of.by_tuple:
        found += ["pairs: evaluate"] * of.pair
        found += ["triplets: zetas", "bonds: add up zetas"] * (of.body == "bond order")
        found += ["triplets: evaluate", "triplets: add up"] * bool(of.body)
        pairs = "pairs: add up members"
    else:
        found += ["atoms: moments" if moments else "atoms: partial forces"] * bool(of.body)
        pairs = "atoms: pairs"
    if not of.body and of.lanes > 1 and not of.by_tuple:
        return [*found, f"{pairs}, kick", "drift"]
    if not of.body or (apart and of.lanes > 1):
        found.append(pairs)
        pairs = ""
    gather = "gather" if of.body else ""
    parts = [
        part for part in (gather, pairs if apart else "", "kick", "" if apart or moments else "drift") if part
    ]
    found.append(", ".join(parts))
    return found + ["drift"] * (apart or moments)


def _list_loops(of: Layout) -> list[str]:
    found = ["pack positions", "cut"] + ["put in order"] * (bool(of.body) and of.shared)
    found += ["reverse entries"] * (bool(of.body) and (of.body != "angle" or of.by_tuple))
    if of.by_tuple:
        found += ["count", *(f"running sums {level}" for level in (1, 2, 3)), "running sums", "check", "fill"]
        found += ["members of the other ends"] * of.pair
    return [LISTS + name for name in found]


def number(kernel: str) -> int | None:
    """The order of a parallel loop of the stepping kernel in its profiler's name; None of anything else."""
    match = re.match(rf"{KERNEL}_c\d+_\d+_kernel_(\d+)_range_for", kernel)
    return int(match[1]) if match else None


def named(kernels: Iterable[str], of: Layout) -> dict[str, str]:
    """Names of the parallel loops among a profiler's kernels; empty if their number is not as expected."""
    loops = sorted((k for k in set(kernels) if number(k) is not None), key=lambda k: number(k) or 0)
    expected = names(of)
    return dict(zip(loops, expected, strict=True)) if len(loops) == len(expected) else {}
