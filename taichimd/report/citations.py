"""Papers of the methods and of potentials, as BibTeX. docs/citing.md has those of papers.bib in words."""

import re
from collections.abc import Iterable, Sequence

from taichimd import __version__
from taichimd.report.page import content_of

_ENTRIES = {
    entry.partition("{")[2].partition(",")[0]: entry
    for entry in content_of("papers.bib").strip().split("\n\n")
}
"""Entries of papers.bib by the keys that methods paragraphs cite."""
OF_PROGRAM = ("taichimd", "hu2019", "larsen2017")
"""Keys that every calculation cites."""
_PAPER = re.compile(
    r"(?P<authors>[^\d]+?), (?P<journal>[^\d,]+?) (?P<volume>[A-Z]?\d+[A-Z]?), (?P<pages>[\w.-]+) "
    r"\((?P<year>\d{4})\)"
)


def bibtex(wanted: Iterable[str], potentials: Sequence[tuple[str, str | None]] = ()) -> str:
    """BibTeX of methods by their keys, of potentials (citation and DOI), and of taichimd."""
    entries = [_of_program()]
    entries += [_ENTRIES[key] for key in dict.fromkeys([*wanted, *OF_PROGRAM[1:]]) if key in _ENTRIES]
    entries += of_potentials(potentials).values()
    return "\n\n".join(entries)


def of_potentials(potentials: Sequence[tuple[str, str | None]]) -> dict[str, str]:
    """BibTeX of potentials (citation, DOI) by their keys; what does not read as one paper becomes a note."""
    found: dict[str, str] = {}
    for citation, doi in dict.fromkeys(potentials):
        match = _PAPER.match(citation)
        if match is None:
            key = f"potential{len(found) + 1}"
            found[key] = _entry("misc", key, note=citation, doi=doi or "")
            continue
        authors = re.split(r",? and |, ", match["authors"])
        key = re.sub(r"\W", "", authors[0].split()[-1]).lower() + match["year"]
        while key in found or key in _ENTRIES:
            key += "a"
        rest = citation[match.end() :].lstrip(" ;,")
        found[key] = _entry(
            "article", key, author=" and ".join(authors), journal=match["journal"], volume=match["volume"],
            pages=match["pages"], year=match["year"], doi=doi or "",
            note="" if rest.startswith("doi:") else rest,
        )  # fmt: skip
    return found


def _of_program() -> str:
    return _entry(
        "software", "taichimd", author="{The taichimd developers}", title="{taichimd}", version=__version__
    )


def _entry(kind: str, key: str, **fields: str) -> str:
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])
