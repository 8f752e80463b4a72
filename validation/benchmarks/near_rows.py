"""How long are the rows of near lists, how many steps do they last, and would a slack for each atom help?

    python -m validation.benchmarks.near_rows --atoms 64000 --heat 2

Counted in the positions of a run, without the lists of the program. A list holds what is within cutoff + skin
when it is cut. With one slack, as the program has it, it lasts until some atom has moved by half the skin.
With a slack of its own an atom may move by half of what its nearest neighbour outside the list is beyond the
cutoff: no pair comes within the cutoff unseen either, as that distance counts from both ends. Of a crystal's
next shell only few are so near.
"""

from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from validation import common
from validation.benchmarks.systems import CASES, HEAT, heated

SETTLE, STEPS = 2000, 160
"""Steps before the first position, and of the run that is looked at."""
STARTS = 0, 50, 100
"""Steps at which lists are cut."""
FARTHEST = 1.0
"""Angstrom beyond the cutoff up to which neighbours outside the list are looked for; it bounds the slack."""
WARP = 32


def main() -> None:
    """Run a crystal, count for every skin, write JSON, print a table last."""
    parser = common.parser(__doc__)
    parser.add_argument("--case", default="tersoff-si", choices=[n for n in CASES if n.endswith("-si")])
    parser.add_argument("--atoms", type=int, default=64_000)
    parser.add_argument("--heat", type=float, nargs="+", default=[1.0, 2.0], help=HEAT)
    parser.add_argument("--skins", type=float, nargs="+", default=[0.1, 0.15, 0.2, 0.25, 0.3, 0.43])
    parser.add_argument("--out", type=Path, default=common.RESULTS / "near_rows.json")
    options = parser.parse_args()
    report: dict[str, Any] = {"case": options.case, "atoms": options.atoms, "results": []}
    for heat in options.heat:
        temperature, cutoff, lengths, frames = run(options.case, options.atoms, heat)
        for skin in options.skins:
            found = [count(frames[start:], lengths, cutoff, skin) for start in STARTS]
            mean = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
            report["results"].append({"temperature_K": temperature, "skin_A": skin, **mean})
        common.write_json(options.out, {**common.provenance(), **report})
    names = list(report["results"][0])
    print(common.table([[f"{result[name]:.4g}" for name in names] for result in report["results"]], names))


def run(case: str, atoms: int, heat: float) -> tuple[float, float, np.ndarray, list[np.ndarray]]:
    """Temperature (K), cutoff and cell lengths (angstrom), positions of each step of a settled crystal."""
    from taichimd.program.engine import Engine

    system = heated(CASES[case].system(atoms), heat)
    engine = Engine(system.atoms, system.forcefield())
    engine.advance(SETTLE, system.timestep)
    frames = []
    for _ in range(STEPS):
        frames.append(engine.positions())
        engine.advance(1, system.timestep)
    cutoff = engine.statistics()["cutoff_A"]
    return engine.thermo().temperature, cutoff, system.atoms.cell.lengths(), frames


def count(frames: list[np.ndarray], lengths: np.ndarray, cutoff: float, skin: float) -> dict[str, float]:
    """Rows of a list cut at the first frame, and the steps until it no longer serves (or frames end)."""
    x = frames[0]
    i, j = cKDTree(x % lengths, boxsize=lengths).query_pairs(cutoff + FARTHEST, output_type="ndarray").T
    apart = x[j] - x[i]
    r = np.linalg.norm(apart - lengths * np.round(apart / lengths), axis=1)
    listed = r < cutoff + skin
    rows = np.bincount(np.concatenate([i[listed], j[listed]]), minlength=len(x))
    slack = np.full(len(x), 0.5 * FARTHEST)
    for ends in (i, j):
        np.minimum.at(slack, ends[~listed], 0.5 * (r[~listed] - cutoff))
    longer = float((rows > 4).mean())
    return {
        "mean_row": rows.mean(),
        "longest_row": rows.max(),
        "longer_than_4": longer,
        "warps_with_longer": 1.0 - (1.0 - longer) ** WARP,
        "steps_one_slack": lasts(frames, 0.5 * skin),
        "steps_own_slack": lasts(frames, slack),
    }


def lasts(frames: list[np.ndarray], slack: Any) -> int:
    """Steps that pass before some atom has moved farther than its slack."""
    for step, x in enumerate(frames[1:]):
        if (np.linalg.norm(x - frames[0], axis=1) > slack).any():
            return step
    return len(frames) - 1


if __name__ == "__main__":
    main()
