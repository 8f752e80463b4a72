"""What to type here for the pair lines of a LAMMPS script. The command line needs it: it imports no NumPy."""

import shlex
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
_ENDS = {
    "tersoff": (".tersoff",), "tersoff/mod": (".tersoff.mod",), "tersoff/mod/c": (".tersoff.modc",),
    "tersoff/zbl": (".tersoff.zbl",), "sw": (".sw",), "sw/mod": (".sw.mod",), "vashishta": (".vashishta",),
    "eam": (".eam", ".funcfl"), "eam/alloy": (".eam.alloy", ".alloy", ".setfl"),
    "eam/fs": (".eam.fs", ".fs"), "edip": (".edip",), "edip/multi": (".edip",),
}  # fmt: skip
"""How names of files end that are read as this style's."""
_ARGUMENTS = ("linear", "spline", "lookup", "bitmap", "maxdelcs", "threebody", "on", "off", "scaled")
"""Words after the name of a style in a hybrid line."""
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
    joined = text.replace("&\n", " ").replace(";", "\n")
    lines = [words for line in joined.splitlines() if (words := _words(line))]
    styles = [line[1:] for line in lines if line[0] == "pair_style"]
    rows = [line for line in lines if line[0] == "pair_coeff"]
    files = list(dict.fromkeys(file for row in rows if (file := _file_of(row))))
    if styles and styles[0]:
        return _of_style(styles[0], files)
    if files:
        return f"pair_coeff of LAMMPS: write {_options(files)}; elements come from the structure"
    if rows:
        return (
            "pair_coeff of LAMMPS with numbers: write them into a file, .lj "
            "(docs/forcefields/lennard_jones.md) "
            "or .pair (docs/forcefields/pairs.md), and give it as --potential FILE"
        )
    return None


def _words(line: str) -> list[str]:
    """Words of a line without its comment; a name in quotes is one word."""
    try:
        return shlex.split(line, comments=True)
    except ValueError:
        return line.split("#", 1)[0].split()


def _options(files: Sequence[str]) -> str:
    return " ".join(f"--potential {shlex.quote(file)}" for file in files)


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


def _of_style(words: Sequence[str], files: Sequence[str]) -> str:
    """What to type for a pair_style line, and for the files of pair_coeff lines after it."""
    style = _plain(words)
    if style.startswith("hybrid"):
        return _of_hybrid(words, files)
    if style in _ROWS:
        end, page = _ROWS[style]
        return (
            f"pair_style {style} of LAMMPS: write its coefficients into a {end} file "
            f"(docs/forcefields/{page}.md), and give it as --potential FILE{end}"
        )
    if style not in _FILES:
        return (
            f"pair_style {style} of LAMMPS is not there; docs/choose.md lists what is, and "
            "docs/forcefields/own.md shows how to write it"
        )
    if style == "sw/mod" and "maxdelcs" in words:
        return (
            "pair_style sw/mod of LAMMPS with maxdelcs: write StillingerWeberMod(FILE, maxdelcs=(d1, d2)) in "
            "a Python file (docs/forcefields/stillinger_weber.md), and give it as --potential own.py:NAME"
        )
    if not files:
        return (
            f"pair_style {style} of LAMMPS: write --potential {_FILES[style]}, with the file of the "
            "pair_coeff line; elements come from the structure"
        )
    ends = _ENDS.get(style, ("",))
    called = [file if file.endswith(ends) else file + ends[0] for file in files]
    renamed = [f"{old} to {new}" for old, new in zip(files, called, strict=True) if old != new]
    first = (
        f"rename {' and '.join(renamed)}, because the end of the name says the format, and "
        if renamed
        else ""
    )
    return f"pair_coeff of LAMMPS: {first}write {_options(called)}; elements come from the structure"


def _of_hybrid(words: Sequence[str], files: Sequence[str]) -> str:
    """What to type for several styles: which have files, which coefficients, and which are not there."""
    style, parts = words[0], [_plain([word]) for word in words[1:] if _is_style(word)]
    if missing := [part for part in parts if part not in _FILES and part not in _ROWS]:
        return _of_style(missing, ())
    written = [f"a {_ROWS[part][0]} file for {part}" for part in parts if part in _ROWS]
    if files:
        what = " and ".join([f"write {_options(files)}", *(f"--potential with {one}" for one in written)])
    else:
        what = "give --potential several times"
    if style == "hybrid":
        return (
            f"pair_style hybrid of LAMMPS: {what}; potentials are added up, and on= says on which pairs a "
            "term acts (docs/forcefields/pairs.md)"
        )
    return f"pair_style {style} of LAMMPS: {what}; potentials are added up"


def _is_style(word: str) -> bool:
    """Whether a word of a hybrid line is the name of a style, not an argument of the style before."""
    return word[:1].isalpha() and word not in _ARGUMENTS
