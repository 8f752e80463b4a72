"""Do the labels of fifty chains score lower than other labels? A demonstration, no claim of accuracy.

    python -m validation.sequences.demonstration

Ten-fold cross-validation: a table is trained without the chains that it scores. Decoys of a chain are its
labels in random order ("shuffled"), and a stretch of the labels of training chains ("segments"), which
keeps the lengths of helices and strands. z is the native score less the mean of its decoys, over their
standard deviation.
"""

from pathlib import Path

import numpy as np

from validation import common

KINDS = ("shuffled", "segments")
PARTS = {"singlets": 1, "singlets + doublets": 2, "singlets + doublets + triplets": 3}


def scored(chains, reference, options):
    """Native scores (chains, 3) and those of decoys (chains, kinds, decoys, 3), kT."""
    from taichimd.sequences.chains import Chain
    from taichimd.sequences.counts import Shape
    from taichimd.sequences.score import score
    from taichimd.sequences.table import train

    rng = np.random.default_rng(options.seed)
    native = np.zeros((len(chains), 3))
    decoys = np.zeros((len(chains), len(KINDS), options.decoys, 3))
    order = rng.permutation(len(chains))
    for fold in range(options.folds):
        tested = np.sort(order[fold :: options.folds])
        trained = [chains[k] for k in sorted(set(range(len(chains))) - set(tested.tolist()))]
        pool = "".join(one.states for one in trained)
        batch = []
        for one in (chains[k] for k in tested):
            shuffled = ["".join(rng.permutation(list(one.states))) for _ in range(options.decoys)]
            starts = rng.integers(len(pool) - len(one), size=options.decoys)
            segments = [pool[start : start + len(one)] for start in starts]
            batch += [one, *(Chain(one.name, one.sequence, states) for states in shuffled + segments)]
        found = score(batch, train(trained, Shape(options.fragment), reference=reference))
        found = found.reshape(len(tested), 1 + len(KINDS) * options.decoys, 3)
        native[tested] = found[:, 0]
        decoys[tested] = found[:, 1:].reshape(len(tested), len(KINDS), options.decoys, 3)
    return native, decoys


def summary(chains, native, decoys):
    """Means over the chains, of each part of the score."""
    lengths = np.array([len(one) for one in chains])
    found = {}
    for name, orders in PARTS.items():
        own, others = native[:, :orders].sum(axis=1), decoys[..., :orders].sum(axis=-1)
        found[name] = {"native_kT_per_residue": np.mean(own / lengths)}
        for k, kind in enumerate(KINDS):
            z = (own - others[:, k].mean(axis=1)) / others[:, k].std(axis=1)
            found[name][kind] = {
                "kT_per_residue": np.mean(others[:, k].mean(axis=1) / lengths),
                "z": z.mean(),
                "native_lowest": np.mean(own < others[:, k].min(axis=1)),
            }
    return found


def draw(path, chains, native, decoys):
    """Each chain's score beside the range of its decoys."""
    from taichimd.io.analysis_files import COLOURS
    from taichimd.io.analysis_files import draw as write

    lengths = np.array([len(one) for one in chains])
    own = native.sum(axis=1) / lengths
    order = np.argsort(own)

    def panel(kind):
        def show(axis):
            others = decoys[order, kind].sum(axis=-1) / lengths[order, None]
            low, high = others.min(axis=1), others.max(axis=1)
            axis.vlines(np.arange(len(own)), low, high, color=COLOURS[6], alpha=0.5, label="decoys")
            axis.plot(own[order], "o", color=COLOURS[1], markersize=3, label="native")
            axis.set_xlabel("chain, by its score")
            axis.set_ylabel("score (kT a residue)")
            axis.set_title(("shuffled labels", "segments of labels of other chains")[kind], fontsize=10)
            axis.legend(frameon=False, fontsize=8)

        return show

    write(path, "CSSP, 10-fold cross-validation: a demonstration", [panel(0), panel(1)])


def main() -> None:
    """Score, write JSON and picture, print the table."""
    parser = common.parser(__doc__, out="cssp_demonstration")
    parser.add_argument("--chains", type=Path, default=common.ROOT / "examples" / "protein_chains.csv")
    parser.add_argument("--fragment", type=int, default=7)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--decoys", type=int, default=50, help="of each kind, for each chain")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="five decoys")
    options = parser.parse_args()
    options.decoys = 5 if options.quick else options.decoys
    from taichimd.sequences.chains import read_chains
    from taichimd.sequences.table import PSEUDO_COUNTS, REFERENCES

    chains, results, rows = read_chains(options.chains), {}, []
    for reference in REFERENCES:
        native, decoys = scored(chains, reference, options)
        results[reference] = summary(chains, native, decoys)
        if reference == REFERENCES[0]:
            draw(options.out.with_suffix(".png"), chains, native, decoys)
        for name, part in results[reference].items():
            cells = []
            for kind in KINDS:
                of = part[kind]
                cells += [f"{of['kT_per_residue']:+.3f}", f"{of['z']:.2f} ({of['native_lowest']:.0%})"]
            rows.append([reference, name, f"{part['native_kT_per_residue']:+.3f}", *cells])
    settings = {k: getattr(options, k) for k in ("chains", "fragment", "folds", "decoys", "seed")}
    head = {"claim": "a demonstration, no claim of accuracy", "pseudo_counts": PSEUDO_COUNTS}
    common.write_json(options.out, {**common.provenance(), **head, **settings, "results": results})
    print(common.table(rows, ("reference", "terms", "native", KINDS[0], "z", KINDS[1], "z")))


if __name__ == "__main__":
    main()
