"""Other ways to run ReaxFF's kernels: threads of a row, threads of a block, sums by float atomics.

Each is set before the first engine of a process is made. All leave what is computed as it is. With other
numbers of threads the bits are the same, because sums over rows are exact; with float atomics sums have no
order.
"""

import inspect
from collections.abc import Iterable
from importlib import import_module
from typing import Any

FORCES = "taichimd.forcefields.reaxff."


def set_threads_of_row(many: int) -> None:
    """So many threads share a row of pairs or of acceptors: 1, 2, 4, 8 (the product's), 16 or 32."""
    from taichimd.core.runtime import ti
    from taichimd.enumerate import row_sums
    from taichimd.neighbours.masks import how_many_below
    from taichimd.neighbours.rows import WARP, those

    threads = many

    @ti.func
    def claim(keeps, thread):
        """As `neighbours.rows.claim`, of other numbers of threads."""
        votes = those(keeps) >> (thread % WARP // threads * threads)
        if ti.static(threads < WARP):
            votes = votes & (2**threads - 1)
        return how_many_below(votes, thread % threads), ti.math.popcnt(votes)

    row_sums.LANES = many if many > 1 else 8
    row_sums.threads_of_row = lambda _layout: threads
    for name in ("matrix", "nonbonded", "hydrogen_bonds", "bonded", "solver"):
        module: Any = import_module(FORCES + name)
        module.threads_of_row = lambda _layout: threads
        if name in ("matrix", "nonbonded"):
            module.LANES = row_sums.LANES
    import_module(FORCES + "matrix").claim = claim


def set_threads_of_block(threads: int) -> None:
    """Blocks of so many threads, and as many blocks fewer; after the runtime has been started."""
    from taichimd.core import runtime

    runtime._impl.current_cfg().default_gpu_block_dim = threads
    usual = runtime.blocks_for
    for name in (FORCES + "charges", FORCES + "nonbonded", "taichimd.program.device"):
        module: Any = import_module(name)
        module.blocks_for = lambda n: max(usual(n) * 128 // threads, 1) if usual(n) else 0


def set_atomics(terms: Iterable[str]) -> None:
    """Sum by float atomics what others get of torsions, hydrogen bonds, or pairs (`REPLACED`)."""
    bonded: Any = import_module(FORCES + "bonded")
    evaluator: Any = import_module(FORCES + "evaluator")
    for term in terms:
        for name, replacements in REPLACED[term].items():
            changed = _changed(name, replacements)
            if name == "nonbonded":
                evaluator.Nonbonded = changed.Nonbonded
            else:
                setattr(bonded, f"{name}_function", getattr(changed, f"{name}_function"))


def _changed(name: str, replacements: dict[str, str]) -> Any:
    """A copy of a module with other text, each piece of which it has once."""
    from taichimd.core.generated import imported

    source = inspect.getsource(import_module(FORCES + name))
    for before, after in replacements.items():
        if source.count(before) != 1:
            raise SystemExit(
                f"{name}.py has this text {source.count(before)} times, expected once:\n{before}"
            )
        source = source.replace(before, after)
    return imported(source, f"atomics_{name}")


REPLACED: dict[str, dict[str, dict[str, str]]] = {
    "torsions": {
        # The bond of an end is of the same atom, but of another thread.
        "torsions": {
            "bonds.ends[place(j, v, n, width) + m * s] = cb":
                "ti.atomic_add(bonds.half[H.CB * m + t1], cb)",
            "bonds.ends[((c + 1) * width + s) * m + t1] = force[c]":
                "ti.atomic_add(bonds.half[(H.OUTER_X + c) * m + t1], force[c])",
            "bonds.half[H.CB * m + t] += 0.5 * cb_centre":
                "ti.atomic_add(bonds.half[H.CB * m + t], 0.5 * cb_centre)",
            "put_vector(vector(H.OUTER_X, t, m, bonds.half) - 0.5 * between, H.OUTER_X, t, m, bonds.half)":
                "for c in ti.static(range(3)):\n"
                "                    ti.atomic_add(bonds.half[(H.OUTER_X + c) * m + t], -0.5 * between[c])",
        },
        "chain": {"for v in range(bonds.count[j]):": "for v in range(0):"},
    },
    "hydrogen bonds": {
        # The acceptor is another atom.
        "hydrogen_bonds": {
            "t, h, lane, g: ti.template()):": "t, h, lane, g: ti.template(), virial: ti.template()):",
            "add_acceptors(sums, t, h, thread % many, g)":
                "add_acceptors(sums, t, h, thread % many, g, virial)",
            "with_term(sums, 8, 7, e)":
                "with_term(sums, 8, 7, e)\n"
                "                        k = entry >> shift_bits\n"
                "                        for c in ti.static(range(3)):\n"
                "                            at = (A.ACCEPTED_X + c) * n + k\n"
                "                            ti.atomic_add(bonds.atom[at], -to_acceptor[c])\n"
                "                        for c in ti.static(range(3, numbers)):\n"
                "                            part = -far[c // 3 - 1] * to_acceptor[c % 3]\n"
                "                            ti.atomic_add(virial[9 * k + c - 3], part)",
            "        for thread in range(half_threads):":
                "        for i in range(g.atoms.n):\n"
                "            for c in ti.static(range(3)):\n"
                "                g.bonds.atom[(A.ACCEPTED_X + c) * g.atoms.n + i] = 0.0\n"
                "            for c in ti.static(range(3, numbers)):\n"
                "                virial[9 * i + c - 3] = 0.0\n"
                "        for thread in range(half_threads):",
            "does = thread < n * many and g.status[GO] == 1\n": "does = thread < 0\n",
        },
    },
    "pairs": {
        # A pair is done once; of forces alone.
        "nonbonded": {
            "        for thread in range(g.threads):":
                "        if ti.static(want == FORCE):\n"
                "            for i in range(g.atoms.n):\n"
                "                results.force[i] = ti.Vector.zero(real, 3)\n"
                "        for thread in range(g.threads):",
            "add_lane(sums, i, thread % many, does, want, g)":
                "add_lane(sums, i, thread % many, does, want, g, results)",
            "add_lane(sums, i, lane, does, want, g)": "add_lane(sums, i, lane, does, want, g, results)",
            "i, lane, does, want: ti.template(), g: ti.template()):":
                "i, lane, does, want: ti.template(), g: ti.template(), results: ti.template()):",
            "            if s < count:\n"
            "                entry = g.matrix.entries[slot(i, s, n, width, layout)]\n"
            "                j = entry >> shift_bits\n":
                "            entry = 0\n"
                "            if s < count:\n"
                "                entry = g.matrix.entries[slot(i, s, n, width, layout)]\n"
                "            j = entry >> shift_bits\n"
                "            once = s < count\n"
                "            if ti.static(want == FORCE):\n"
                "                once = once and j > i\n"
                "            if once:\n",
            "                f = (w + product * dk) * d\n":
                "                f = (w + product * dk) * d\n"
                "                if ti.static(want == FORCE):\n"
                "                    for x in ti.static(range(3)):\n"
                "                        ti.atomic_add(results.force[j][x], -f[x])\n",
            "        results.force[i] = ti.cast(ti.Vector([total[0], total[1], total[2]]), real)\n":
                "        if ti.static(want == FORCE):\n"
                "            for x in ti.static(range(3)):\n"
                "                ti.atomic_add(results.force[i][x], total[x])\n"
                "        else:\n"
                "            results.force[i] = ti.cast(ti.Vector([total[0], total[1], total[2]]), real)\n",
        },
    },
}  # fmt: skip
"""By term: the module, its text, and the text of the variant."""
