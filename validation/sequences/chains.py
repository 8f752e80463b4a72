"""Makes examples/protein_chains.csv: fifty chains of the Protein Data Bank with labels that mdtraj finds.

    pip install mdtraj; pip download --no-deps --no-binary :all: MDAnalysisTests==2.11.0
    tar xf mdanalysistests-2.11.0.tar.gz
    python -m validation.sequences.chains mdanalysistests-2.11.0/MDAnalysisTests/data/dssp

The folder holds coordinates of the chains (PDB entries, CC0). Its own labels, by another program, are not
used.
"""

from dataclasses import replace
from pathlib import Path

from validation import common


def main() -> None:
    """Read the structures and write the CSV file."""
    from taichimd.sequences.chains import write_chains
    from taichimd.sequences.structures import read_structure

    parser = common.parser(__doc__)
    parser.add_argument("folder", type=Path, help="of files such as 1ahsA.pdb.gz")
    parser.add_argument("--out", type=Path, default=common.ROOT / "examples" / "protein_chains.csv")
    options = parser.parse_args()
    chains = []
    for file in sorted(options.folder.glob("?????.pdb.gz")):
        name = file.name.removesuffix(".pdb.gz")
        (found,) = read_structure(file)
        chains.append(replace(found, name=name))
    write_chains(options.out, chains)
    print(f"{len(chains)} chains, {sum(map(len, chains))} residues in {options.out.name}")


if __name__ == "__main__":
    main()
