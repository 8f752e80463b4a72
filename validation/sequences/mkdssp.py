"""Are the labels of the fifty chains, which mdtraj found, those of DSSP itself (Debian's mkdssp)?

    apt-get install dssp; pip download --no-deps --no-binary :all: MDAnalysisTests==2.11.0
    tar xf mdanalysistests-2.11.0.tar.gz
    python -m validation.sequences.mkdssp mdanalysistests-2.11.0/MDAnalysisTests/data/dssp

Labels are those of examples/protein_chains.csv. Those of the folder, by another program, are compared, too.
"""

import gzip
import subprocess
import tempfile
from pathlib import Path

from validation import common

HEAD = (
    f"HEADER    {'PROTEIN':40}01-JAN-00   XXXX\n"
    "CRYST1    1.000    1.000    1.000  90.00  90.00  90.00 P 1           1\n"
)
"""Without it mkdssp does not know that a file is PDB."""


def labels_of(file: Path, sequence: str) -> str:
    """Labels C, E, H of a chain's residues, by mkdssp."""
    from taichimd.sequences.chains import Chain

    with tempfile.TemporaryDirectory() as folder:
        structure, found = Path(folder) / "chain.pdb", Path(folder) / "chain.dssp"
        structure.write_text(HEAD + gzip.decompress(file.read_bytes()).decode())
        subprocess.run(
            ["mkdssp", "--output-format", "dssp", structure, found], check=True, capture_output=True
        )
        lines = found.read_text().splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("  #  RESIDUE")) + 1
    residues = [line for line in lines[first:] if line[13] != "!"]
    # Small letters are cysteines with a bridge.
    letters = "".join("C" if line[13].islower() else line[13] for line in residues)
    if letters != sequence:
        raise SystemExit(f"{file}: mkdssp finds other residues than mdtraj")
    return Chain("", letters, "".join(line[16].strip() or "-" for line in residues)).states


def main() -> None:
    """Compare the labels."""
    from taichimd.sequences.chains import LABELS, Chain, read_chains

    parser = common.parser(__doc__)
    parser.add_argument("folder", type=Path, help="of files such as 1ahsA.pdb.gz")
    parser.add_argument("--out", type=Path, default=common.RESULTS / "cssp_mkdssp.json")
    options = parser.parse_args()
    chains = read_chains(common.ROOT / "examples" / "protein_chains.csv")
    counts = {program: {a: dict.fromkeys(LABELS, 0) for a in LABELS} for program in ("mkdssp", "folder")}
    for chain in chains:
        given = (options.folder / f"{chain.name}.pdb.dssp").read_text().split()[0]
        others = {
            "mkdssp": labels_of(options.folder / f"{chain.name}.pdb.gz", chain.sequence),
            "folder": Chain(chain.name, chain.sequence, given).states,
        }
        for program, other in others.items():
            for a, b in zip(chain.states, other, strict=True):
                counts[program][a][b] += 1
    version = subprocess.run(["mkdssp", "--version"], check=True, capture_output=True, text=True).stdout
    results = {}
    for program, table in counts.items():
        compared, same = sum(sum(row.values()) for row in table.values()), sum(table[a][a] for a in LABELS)
        results[program] = {"compared": compared, "same": same, "mdtraj_then_other": table}
    payload = common.provenance() | {
        "program": version.splitlines()[0].strip(),
        "chains": len(chains),
        "residues": sum(map(len, chains)),
        "results": results,
    }
    common.write_json(options.out, payload)
    rows = [
        (name, one["compared"], one["same"], f"{one['same'] / one['compared']:.4f}")
        for name, one in results.items()
    ]
    print(common.table(rows, ("labels", "residues compared", "same", "part")))


if __name__ == "__main__":
    main()
