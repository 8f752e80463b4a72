"""Chains of PDB and mmCIF files, with labels that mdtraj finds in the coordinates (extra `protein`)."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from taichimd.core.errors import SequenceError
from taichimd.sequences.chains import UNKNOWN, Chain, read_chains

SUFFIXES = (".pdb", ".cif", ".mmcif", ".pdbx")
"""Endings of structure files; each may be followed by .gz."""
BOND = 0.25
"""Longest distance of C and the next N in a chain without a gap, nm."""


def read_all(paths: Sequence[str | Path]) -> list[Chain]:
    """Chains of several files: structures by their names, else CSV."""
    return [chain for path in paths for chain in (read_structure if _stem(path) else read_chains)(path)]


def _stem(path: str | Path) -> str | None:
    """Name of a structure file without its suffix; None of another file."""
    name = Path(path).name.removesuffix(".gz")
    return next((name.removesuffix(suffix) for suffix in SUFFIXES if name.lower().endswith(suffix)), None)


def read_structure(path: str | Path) -> list[Chain]:
    """Protein chains of the first model of a file, with labels by DSSP.

    W. Kabsch and C. Sander, Biopolymers 22, 2577 (1983).

    A residue without one of the twenty letters is unknown. Where C and the next N are no bond apart, as
    many unknown residues are put in as the numbers of residues leave out, and at least one: neighbours in
    the file are none in the chain.

    Raises:
        SequenceError: mdtraj is not installed, or the file cannot be read or has no protein.
    """
    if not find_spec("mdtraj"):
        raise SequenceError(
            f"{path}: structures need mdtraj; in the checkout: pip install '.[protein]', or give a CSV file"
        )
    import mdtraj

    try:
        whole = mdtraj.load(str(path))[0]
        labels = mdtraj.compute_dssp(whole, simplified=True)[0]
    except Exception as error:
        # What it raises for a broken file is whatever its parser ran into.
        raise SequenceError(f"cannot read {path} as a structure: {error or type(error).__name__}") from error
    found = []
    for chain in whole.topology.chains:
        residues = [
            (one, label)
            for one, label in zip(chain.residues, labels[_numbers(chain)], strict=True)
            if label != "NA"
        ]
        if residues:
            found.append(_chain(f"{_stem(path)}_{chain.chain_id or chain.index}", residues, whole.xyz[0]))
    if not found:
        raise SequenceError(f"{path} has no protein chain: expected residues with N, CA, C and O")
    return found


def _numbers(chain: Any) -> list[int]:
    return [one.index for one in chain.residues]


def _chain(name: str, residues: list[tuple[Any, str]], positions: Any) -> Chain:
    sequence, states, before = "", "", None
    for one, label in residues:
        if before is not None:
            ends = (next(before.atoms_by_name("C")).index, next(one.atoms_by_name("N")).index)
            if np.linalg.norm(np.subtract(*positions[list(ends)])) > BOND:
                missing = max(one.resSeq - before.resSeq - 1, 1)
                sequence, states = sequence + UNKNOWN * missing, states + "C" * missing
        sequence, states, before = sequence + (one.code or UNKNOWN), states + str(label), one
    return Chain(name, sequence, states)
