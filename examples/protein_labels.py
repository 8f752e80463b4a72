"""Labels of secondary structure, scored by CSSP: native labels of ten chains against shuffled ones.

Run it:  python examples/protein_labels.py        (draws protein_labels.png)

Expect native scores below those of all fifty shuffled copies in 9 of 10 chains. A demonstration, no claim of
accuracy. The score is of a sequence with labels: it has no coordinates and no forces.
"""

from pathlib import Path

import numpy as np

from taichimd.io.analysis_files import COLOURS, draw
from taichimd.sequences.chains import Chain, read_chains
from taichimd.sequences.score import score
from taichimd.sequences.table import train

COPIES = 50

chains = read_chains(Path(__file__).with_name("protein_chains.csv"))
table, tested = train(chains[:40]), chains[40:]
rng = np.random.default_rng(1)
batch = []
for chain in tested:
    shuffled = ["".join(rng.permutation(list(chain.states))) for _ in range(COPIES)]
    batch += [Chain(chain.name, chain.sequence, states) for states in [chain.states, *shuffled]]
# One call scores all of them.
totals = score(batch, table).sum(axis=1).reshape(len(tested), 1 + COPIES)
native, others = totals[:, 0], totals[:, 1:]

for chain, own, copies in zip(tested, native, others, strict=True):
    print(
        f"{chain.name} {len(chain):4d} residues: native {own:7.2f} kT, shuffled {copies.min():7.2f} and more"
    )
print(f"native lowest in {np.sum(native < others.min(axis=1))} of {len(tested)} chains")


def panel(axis):
    """A point for each score."""
    for k in range(len(tested)):
        axis.plot(np.full(COPIES, k), others[k], "_", color=COLOURS[6], label="" if k else "shuffled")
    axis.plot(native, "o", color=COLOURS[1], label="native")
    axis.set_xticks(range(len(tested)), [chain.name for chain in tested], rotation=45, fontsize=8)
    axis.set_ylabel("score (kT)")
    axis.legend(frameon=False, fontsize=8)


draw(Path(__file__).with_suffix(".png"), "CSSP of native and of shuffled labels", [panel])
