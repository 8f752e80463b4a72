"""What to type here for the pair lines of a LAMMPS script. The command line needs it: it imports no NumPy."""

from collections.abc import Sequence

_FILES = {
    "tersoff": "FILE.tersoff",
    "tersoff/mod": "FILE.tersoff.mod",
    "tersoff/mod/c": "FILE.tersoff.modc",
    "tersoff/zbl": "FILE.tersoff.zbl",
    "sw": "FILE.sw",
    "sw/mod": "FILE.sw.mod",
    "vashishta": "FILE.vashishta",
    "eam": "FILE.eam for each element",
    "eam/alloy": "FILE.eam.alloy",
    "eam/fs": "FILE.eam.fs",
    "edip": "FILE.edip",
    "edip/multi": "FILE.edip",
    "reaxff": "FILE.ffield",
}
"""The file that follows --potential, by pair style."""
_ROWS = {
    "lj/cut": (".lj", "lennard_jones"), "lj/smooth/linear": (".lj", "lennard_jones"),
    "buck": (".pair", "pairs"), "buck/mdf": (".pair", "pairs"), "born": (".pair", "pairs"),
    "morse": (".pair", "pairs"), "morse/smooth/linear": (".pair", "pairs"), "zbl": (".pair", "pairs"),
    "table": (".pair", "pairs"),
}  # fmt: skip
"""Ending of the file in which coefficients are written, and its page, by pair style."""
_SUFFIXES = ("/kk", "/omp", "/gpu", "/intel", "/opt")
OPTIONS = ("--pair-style", "--pair-coeff")
"""Options that a LAMMPS user may try."""


def advice(text: str) -> str | None:
    """What to type here for `pair_style ...` or `pair_coeff ...`; None for other texts.

    >>> advice("pair_coeff * * NiAl.eam.alloy Ni Al")
    'pair_coeff of LAMMPS: write --potential NiAl.eam.alloy; elements come from the structure'
    >>> advice("Si.sw") is None
    True
    """
    lines = [line.split() for line in text.replace(";", "\n").splitlines() if line.split()]
    styles = [line[1:] for line in lines if line[0] == "pair_style"]
    rows = [line for line in lines if line[0] == "pair_coeff"]
    files = list(dict.fromkeys(file for row in rows if (file := _file_of(row))))
    # The file of a table is not a potential: a .pair file names it.
    if files and not (styles and _plain(styles[0]) in _ROWS):
        given = " ".join(f"--potential {file}" for file in files)
        return f"pair_coeff of LAMMPS: write {given}; elements come from the structure"
    if styles:
        return _of_style(styles[0])
    if rows:
        return (
            "pair_coeff of LAMMPS with numbers: write them into a file, .lj "
            "(docs/forcefields/lennard_jones.md) "
            "or .pair (docs/forcefields/pairs.md), and give it as --potential FILE"
        )
    return None


def of_arguments(words: Sequence[str]) -> str | None:
    """The same for a command line with --pair-style or --pair-coeff; None without them."""
    lines = []
    for k, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option in OPTIONS:
            rest = [value] if equals else []
            for other in words[k + 1 :]:
                if other.startswith("--"):
                    break
                rest.append(other)
            lines.append(" ".join([option[2:].replace("-", "_"), *rest]))
    return advice("\n".join(lines)) if lines else None


def _file_of(words: Sequence[str]) -> str | None:
    """The file of a pair_coeff line, which follows two types and perhaps the name of a style."""
    for word in words[3:]:
        if "." in word and not word.replace(".", "").replace("-", "").replace("e", "").isdigit():
            return word
    return None


def _plain(words: Sequence[str]) -> str:
    """The name of a style without what says how it is computed."""
    style = words[0] if words else ""
    for suffix in _SUFFIXES:
        style = style.removesuffix(suffix)
    return style


def _of_style(words: Sequence[str]) -> str:
    style = _plain(words)
    if style in _FILES:
        return (
            f"pair_style {style} of LAMMPS: write --potential {_FILES[style]}, with the file of the "
            "pair_coeff line; elements come from the structure"
        )
    if style in _ROWS:
        end, page = _ROWS[style]
        return (
            f"pair_style {style} of LAMMPS: write its coefficients into a {end} file "
            f"(docs/forcefields/{page}.md), and give it as --potential FILE{end}"
        )
    if style.startswith("hybrid"):
        return "pair_style hybrid/overlay of LAMMPS: give --potential several times; potentials are added up"
    return (
        f"pair_style {style} of LAMMPS is not there; docs/choose.md lists what is, and "
        "docs/forcefields/own.md shows how to write it"
    )
