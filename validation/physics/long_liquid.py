"""Does a liquid of 32 atoms run on after 10^9 steps, with the bits of a run from step 0?

    TAICHIMD_RUNTIME=quadrants python -m validation.physics.long_liquid

10^9 steps take a day. They change two things besides the state of the liquid: the number of the step, and
how many cells the atoms have gone. Forces see positions that are folded into the cell
(taichimd/system/folding.py). So two runs begin with the same folded positions and velocities. The first run
begins at step 0, and its atoms have not been folded. The second run begins at 10^9 less half of its steps,
with the turns that diffusion gives until then: Gaussian numbers of variance 2 D t/L^2 along each axis of a
cell of length L, with the D of the first run. A third run is the second in pieces, with a checkpoint after
each. All are NVE, and their numbers of steps are multiples of the interval between looks for far atoms.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from validation import common, systems

LAST = 1_000_000_000
"""Number of the step in the middle of the second and third run."""
CELLS, TIMESTEP_FS, SETTLE = 2, 4.0, 20_000
"""Cubic cells of four atoms along each axis, fs, and steps before the first run."""
TEMPERATURE = 400.0
"""K, of the first velocities: half of it is left in the liquid."""
SAMPLES, LAGS = 200, 20
"""Samples of the displacements in a run, and the longest lag in samples."""
PIECES = (0.013, 0.25, 0.25, 0.187)
"""Of the third run, as parts of its steps; the rest is the last one."""


def main() -> None:
    """Parse the command line, run, write JSON, print a table."""
    options = parse()
    from taichimd.core import runtime

    runtime.start(options.backend)
    found = compared(options.steps, options.cells_allowed)
    common.write_json(options.out, {**common.provenance(runtime.info()), **found})
    rows = [(key, f"{value}") for key, value in found.items() if not isinstance(value, list)]
    print(common.table(rows, ("what", "value")))


def compared(steps: int, cells: int) -> dict[str, Any]:
    """Do the three runs, and compare them: lengths in angstrom, times in fs, and whether bits agree."""
    from taichimd.system import folding

    folding.CELLS = ((10**9, cells),)
    liquid = settled()
    length, first = float(liquid.cell.lengths()[0]), LAST - steps // 2
    fresh = Run(liquid, 0, None)
    msd = fresh.walk(steps)
    diffusion = (msd[-1] - msd[LAGS // 2]) / (6 * (LAGS - LAGS // 2) * (steps // SAMPLES) * TIMESTEP_FS)
    spread = np.sqrt(2 * diffusion * LAST * TIMESTEP_FS) / length
    turns = np.rint(spread * np.random.default_rng(10).standard_normal((len(liquid), 3))).astype(np.int64)
    old, parts = Run(liquid, first, turns), Run(liquid, first, turns)
    msd_on = old.walk(steps)
    lengths = [round(part * steps) for part in PIECES]
    with tempfile.TemporaryDirectory() as folder:
        for piece in (*lengths, steps - sum(lengths)):
            parts.run(piece)
            parts.restart(Path(folder) / "checkpoint.npz")
    x, v, gone = old.bits()
    x_fresh, v_fresh, gone_fresh = fresh.bits()
    places = x + folding.shifts(gone, liquid.cell.array)
    return {
        "atoms": len(liquid),
        "cell_A": length,
        "timestep_fs": TIMESTEP_FS,
        "steps": steps,
        "first_step": first,
        "last_step": old.simulation.step,
        "diffusion_cm2_per_s": diffusion * 0.1,
        "spread_of_turns": spread,
        "most_turns": int(np.abs(gone).max()),
        "farthest_A": float(np.abs(old.simulation.positions()).max()),
        "turns_during_the_run": int(np.abs(gone - turns).sum()),
        "same_bits_as_from_step_0": equal(x, x_fresh, v, v_fresh, gone - turns, gone_fresh),
        "same_bits_in_pieces": equal(
            *(array for pair in zip(old.bits(), parts.bits(), strict=True) for array in pair)
        ),
        "positions_are_folded_ones_and_turns": equal(old.simulation.positions(), places),
        "msd_A2": msd[1:].tolist(),
        "msd_relative_difference": float(np.max(np.abs(msd_on[1:] / msd[1:] - 1.0))),
    }


class Run:
    """A run of the liquid in NVE; `turns`: (n, 3) cells by which atoms have been folded before, or None."""

    def __init__(self, liquid: Any, step: int, turns: Any) -> None:
        from taichimd import Simulation

        self.simulation = Simulation(liquid, forcefield(), timestep=TIMESTEP_FS)
        self.simulation.engine.set_state(positions=liquid.positions, turns=turns, step=step)

    def run(self, steps: int) -> None:
        """Some steps."""
        self.simulation.run(steps)

    def restart(self, file: Path) -> None:
        """Go on from a checkpoint."""
        from taichimd import Simulation

        self.simulation.save(file)
        self.simulation = Simulation.load(file, forcefield())

    def walk(self, steps: int) -> np.ndarray:
        """Some steps; the mean square displacement (angstrom^2) by lag, of positions that are not folded."""
        from taichimd.observables.samplers.time_correlation import TimeCorrelation

        engine = self.simulation.engine
        msd = TimeCorrelation(np.zeros(engine.n_atoms, np.int32), 1, LAGS)
        for _ in range(SAMPLES):
            engine.observe(lambda state, energies, virials: msd.sample(state))
            self.simulation.run(steps // SAMPLES)
        return np.asarray(msd.results()[0]).reshape(LAGS + 1, -1).sum(axis=1)

    def bits(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All bits of the state: folded positions, velocities, turns."""
        engine = self.simulation.engine
        turns = engine.turns
        none = np.zeros((engine.n_atoms, 3), np.int64)
        return engine.folded_positions(), engine.velocities(), none if turns is None else turns


def equal(*pairs: np.ndarray) -> bool:
    """Whether the first array is the second, the third the fourth and so on, bit for bit."""
    return all(bool(np.array_equal(*two)) for two in zip(pairs[::2], pairs[1::2], strict=True))


def forcefield() -> Any:
    """Argon with a cutoff that a cell of 32 atoms holds in a few images."""
    return systems.lj_forcefield(systems.ARGON_EPSILON, systems.ARGON_SIGMA, 8.5, "force-shifted")


def settled() -> Any:
    """A liquid of 32 atoms, its positions in the cell."""
    from taichimd import Simulation

    a = systems.fcc_cell(systems.MELT_DENSITY) * systems.ARGON_SIGMA
    atoms = systems.argon(CELLS, TEMPERATURE, cutoff=8.5, timestep_fs=TIMESTEP_FS, a=a).atoms
    simulation = Simulation(atoms, forcefield(), timestep=TIMESTEP_FS)
    simulation.run(SETTLE)
    atoms = simulation.atoms()
    atoms.wrap()
    return atoms


def parse() -> argparse.Namespace:
    """The command line."""
    parser = common.parser(__doc__, out="long_liquid")
    parser.add_argument("--backend", default="cpu", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument(
        "--cells-allowed", type=int, default=1, help="cells that an atom may be away before it is folded"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
