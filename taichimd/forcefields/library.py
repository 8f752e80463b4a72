"""Finds parameter files: the user's own, and those shipped with the package.

The shipped files lie in `potentials/` at the root of the source tree and in `taichimd/potentials/` of an
installed package. They are data, never imported.
"""

import os
from dataclasses import dataclass
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any

from taichimd.core.errors import ParameterFileError
from taichimd.forcefields.formats.header import Header, read_header
from taichimd.forcefields.pasted import advice

SEARCH_PATH = "TAICHIMD_POTENTIALS"
"""Environment variable: folders to search before the shipped files, separated as in PATH."""
KINDS = {
    ".tersoff": "tersoff",
    ".sw": "sw",
    ".vashishta": "vashishta",
    ".lj": "lj",
    ".ffield": "reaxff",
    ".atm": "atm",
    ".tersoff.mod": "tersoff/mod",
    ".tersoff.modc": "tersoff/mod/c",
    ".tersoff.zbl": "tersoff/zbl",
    ".eam.alloy": "eam/alloy",
    ".alloy": "eam/alloy",
    ".setfl": "eam/alloy",
    ".eam.fs": "eam/fs",
    ".fs": "eam/fs",
    ".eam": "eam",
    ".pair": "pair",
    ".sw.mod": "sw/mod",
    ".funcfl": "eam",
    ".edip": "edip/multi",
    ".pot": "potfit",
}
"""What the end of a file's name says about its format."""

_NOT_READ = {
    "an embedded-atom potential with angles or concentrations": (
        ".eam.cd",
        ".cdeam",
        ".eam.he",
        ".adp",
        ".eim",
    ),
    "a modified embedded-atom potential": (".meam", ".meam.spline", ".meam.sw.spline", ".msmeam"),
    "a SNAP potential": (".snap", ".snapcoeff", ".snapparam"),
    "a neuroevolution potential (NEP)": (".nep", "nep.txt", ".nep.txt"),
    "an XML file of a Gaussian approximation potential": (".xml",),
    "an atomic cluster expansion": (".ace", ".yace", ".pace"),
    "a moment tensor potential": (".mtp", ".almtp"),
    "a machine-learned model": (".pt", ".pth", ".pb", ".model", ".mliap", ".ckpt", ".onnx", ".hdnnp", ".nn"),
    "a REBO or AIREBO potential": (".rebo", ".airebo", ".airebo-m", ".airebo.m", ".lcbop"),
    "a potential of another form": (
        ".comb",
        ".comb3",
        ".bop",
        ".bop.table",
        ".nb3b",
        ".gw",
        ".extep",
        ".polymorphic",
        ".table",
        ".kim",
        ".dftb",
        ".skf",
    ),
}
"""Files that people have of other programs, and what no reader is for yet, by the ends of their names."""
_PACKAGE = Path(__file__).resolve().parents[1]
_SUGGESTIONS = 4


@dataclass(frozen=True)
class ShippedFile:
    """One parameter file of the library."""

    name: str  # file name, which `find` and the command line take
    kind: str  # a value of `KINDS`
    elements: tuple[str, ...]  # chemical symbols that the file defines
    header: Header  # paper, DOI and the rest of what the file says about itself
    path: Path  # where it lies


def find(name: str | os.PathLike[str]) -> Path:
    """Path of a parameter file; `~` is the home folder; names must match exactly, similar ones are suggested.

    The first of these that exists: the path as given (so a file in the current folder comes before a shipped
    one of the same name); for a name without a folder, that name in each folder of TAICHIMD_POTENTIALS; that
    name among the shipped files.
    """
    text = os.fspath(name)
    if not text.strip():
        raise ParameterFileError("the name of the parameter file is empty, expected a path or a shipped name")
    if told := advice(text):
        raise ParameterFileError(told)
    path = Path(text).expanduser()
    check_format(path)
    if path.is_file():
        return path
    if path.is_dir():
        raise ParameterFileError(f"{path} is a folder, expected a parameter file such as Si.tersoff")
    bare = len(path.parts) == 1
    if bare:
        for folder in _user_folders() + _shipped_folders():
            # Not (folder / name).is_file(): on some systems that ignores upper and lower case.
            if text in _names(folder):
                return folder / text
    raise ParameterFileError(_not_found(path, bare))


def kind_of(path: Path) -> str | None:
    """The format that the end of a file's name stands for, the longest end first; None for other names."""
    ends = [end for end in KINDS if path.name.endswith(end)]
    return KINDS[max(ends, key=len)] if ends else None


def check_format(path: Path) -> None:
    """Raise a ParameterFileError for a format that is not read, whether the file is there or not."""
    name = path.name.lower()
    if kind_of(path):
        return
    for what, ends in _NOT_READ.items():
        if name.endswith(ends):
            own = (
                "; write it as functions of your own (docs/forcefields/own.md)"
                if "with angles" in what
                else ""
            )
            raise ParameterFileError(
                f"{path}: {what} in a format that is not supported; supported are {', '.join(KINDS)} and "
                f"file.py:name{own}"
            )


def shipped() -> list[ShippedFile]:
    """The parameter files that come with the package, by name; none if it was installed without its data."""
    found = []
    for folder in _shipped_folders():
        for path in _files(folder):
            header, kind = read_header(path), str(kind_of(path))
            found.append(ShippedFile(path.name, kind, header.elements, header, path))
    return found


def _shipped_folders() -> list[Path]:
    """The folder of shipped files: of the installed package, else of the source tree; none if neither."""
    installed, checkout = _PACKAGE / "potentials", _PACKAGE.parent / "potentials"
    if installed.is_dir():
        return [installed]
    # In site-packages a neighbour called potentials is somebody else's package (PyPI has one).
    if checkout.is_dir() and (_PACKAGE.parent / "pyproject.toml").is_file():
        return [checkout]
    return []


def _user_folders() -> list[Path]:
    """The folders of TAICHIMD_POTENTIALS, whether they exist or not."""
    listed = os.environ.get(SEARCH_PATH, "").split(os.pathsep)
    return [Path(entry).expanduser() for entry in listed if entry]


def _names(folder: Path) -> list[str]:
    """Names of the plain files of a folder, sorted; none if it cannot be listed."""
    try:
        return sorted(path.name for path in folder.iterdir() if path.is_file())
    except OSError:
        return []


def _files(folder: Path) -> list[Path]:
    """Files of a folder whose extension is that of a parameter file, sorted by name."""
    return [folder / name for name in _names(folder) if kind_of(Path(name))]


def _not_found(path: Path, bare: bool) -> str:
    """One line: what was looked for, where, and the names that come closest."""
    library = _user_folders() + _shipped_folders()
    known = {candidate.name: candidate.name for folder in library for candidate in _files(folder)}
    # A file beside the one asked for is named with its folder, and comes before a shipped one.
    known |= {candidate.name: str(candidate) for candidate in _files(path.parent)}
    near = [known[match] for match in _near(path.name, list(known))]
    hint = f"did you mean {' or '.join(near)}?" if near else "`taichimd potentials` lists the shipped files"
    if not bare:
        return f"no parameter file {path}; {hint}"
    where = ["the current folder"]
    for folder in _user_folders():
        where.append(f"{folder} (of {SEARCH_PATH}{'' if folder.is_dir() else ', no such folder'})")
    return f"no parameter file {path} in {', '.join(where)} or among the shipped files; {hint}"


def _near(name: str, names: list[str]) -> list[str]:
    """Names that differ in case or lack an extension; without any, those that begin or are spelt alike."""
    wanted = name.lower()
    stem = wanted.rsplit(".", 1)[0] if Path(wanted).suffix in KINDS else wanted
    same = [other for other in names if wanted in (other.lower(), Path(other).stem.lower())]
    if same:
        return same[:_SUGGESTIONS]
    begins = sorted(other for other in names if stem and other.lower().startswith(stem))
    lower = {other.lower(): other for other in names}
    alike = [lower[match] for match in get_close_matches(wanted, lower, n=_SUGGESTIONS, cutoff=0.75)]
    return list(dict.fromkeys(begins + alike))[:_SUGGESTIONS]


def texts_of(spec: Any) -> str | list[str] | None:
    """A potential as it was written, a list for a sum; None if a force-field object is in it."""
    if isinstance(spec, list | tuple):
        texts = [str(one) for one in spec if isinstance(one, str | PathLike)]
        return texts if len(texts) == len(spec) else None
    return str(spec) if isinstance(spec, str | PathLike) else None
