"""Papers of the methods and of potentials, as BibTeX. docs/citing.md has the same papers in words."""

import re
from collections.abc import Iterable, Sequence

from taichimd import __version__

_CHEM = "The Journal of Chemical Physics"
_ENTRIES: dict[str, tuple[str, str, str, str, str, int, str]] = {
    "swope1982": (
        "Swope, W. C. and Andersen, H. C. and Berens, P. H. and Wilson, K. R.",
        "A computer simulation method for the calculation of equilibrium constants for the formation of "
        "physical clusters of molecules: Application to small water clusters",
        _CHEM, "76", "637", 1982, "10.1063/1.442716",
    ),
    "bussi2007": (
        "Bussi, G. and Donadio, D. and Parrinello, M.", "Canonical sampling through velocity rescaling",
        _CHEM, "126", "014101", 2007, "10.1063/1.2408420",
    ),
    "martyna1992": (
        "Martyna, G. J. and Klein, M. L. and Tuckerman, M.",
        "Nosé-Hoover chains: The canonical ensemble via continuous dynamics",
        _CHEM, "97", "2635", 1992, "10.1063/1.463940",
    ),
    "leimkuhler2013": (
        "Leimkuhler, B. and Matthews, C.",
        "Rational construction of stochastic numerical methods for molecular sampling",
        "Applied Mathematics Research eXpress", "2013", "34", 2013, "10.1093/amrx/abs010",
    ),
    "berendsen1984": (
        "Berendsen, H. J. C. and Postma, J. P. M. and van Gunsteren, W. F. and DiNola, A. and Haak, J. R.",
        "Molecular dynamics with coupling to an external bath",
        _CHEM, "81", "3684", 1984, "10.1063/1.448118",
    ),
    "bernetti2020": (
        "Bernetti, M. and Bussi, G.", "Pressure control using stochastic cell rescaling",
        _CHEM, "153", "114107", 2020, "10.1063/5.0020514",
    ),
    "deltatto2022": (
        "Del Tatto, V. and Raiteri, P. and Bernetti, M. and Bussi, G.",
        "Molecular dynamics of solids at constant pressure and stress using anisotropic stochastic cell "
        "rescaling",
        "Applied Sciences", "12", "1139", 2022, "10.3390/app12031139",
    ),
    "martyna1994": (
        "Martyna, G. J. and Tobias, D. J. and Klein, M. L.",
        "Constant pressure molecular dynamics algorithms",
        _CHEM, "101", "4177", 1994, "10.1063/1.467468",
    ),
    "metropolis1953": (
        "Metropolis, N. and Rosenbluth, A. W. and Rosenbluth, M. N. and Teller, A. H. and Teller, E.",
        "Equation of state calculations by fast computing machines",
        _CHEM, "21", "1087", 1953, "10.1063/1.1699114",
    ),
    "guenole2020": (
        "Guénolé, J. and Nöhring, W. G. and Vaid, A. and Houllé, F. and Xie, Z. and Prakash, A. and "
        "Bitzek, E.",
        "Assessment and optimization of the fast inertial relaxation engine (FIRE) for energy minimization "
        "in atomistic simulations and its implementation in LAMMPS",
        "Computational Materials Science", "175", "109584", 2020, "10.1016/j.commatsci.2020.109584",
    ),
    "fan2017": (
        "Fan, Z. and Chen, W. and Vierimaa, V. and Harju, A.",
        "Efficient molecular dynamics simulations with many-body potentials on graphics processing units",
        "Computer Physics Communications", "218", "10", 2017, "10.1016/j.cpc.2017.05.003",
    ),
    "fan2019": (
        "Fan, Z. and Dong, H. and Harju, A. and Ala-Nissila, T.",
        "Homogeneous nonequilibrium molecular dynamics method for heat transport and spectral decomposition "
        "with many-body potentials",
        "Physical Review B", "99", "064308", 2019, "10.1103/PhysRevB.99.064308",
    ),
    "small2018": (
        "Small, P. E. and Kalia, R. K. and Nakano, A. and Vashishta, P.",
        "Acceleration of dynamic n-tuple computations in many-body molecular dynamics",
        "Proceedings of HPC Asia 2018", "", "", 2018, "10.1145/3149457.3149463",
    ),
    "white1997": (
        "White, K. P.", "An effective truncation heuristic for bias reduction in simulation output",
        "Simulation", "69", "323", 1997, "10.1177/003754979706900601",
    ),
    "chodera2007": (
        "Chodera, J. D. and Swope, W. C. and Pitera, J. W. and Seok, C. and Dill, K. A.",
        "Use of the weighted histogram analysis method for the analysis of simulated and parallel tempering "
        "simulations",
        "Journal of Chemical Theory and Computation", "3", "26", 2007, "10.1021/ct0502864",
    ),
    "wirnsberger2015": (
        "Wirnsberger, P. and Frenkel, D. and Dellago, C.",
        "An enhanced version of the heat exchange algorithm with excellent energy conservation properties",
        _CHEM, "143", "124104", 2015, "10.1063/1.4931597",
    ),
    "earl2005": (
        "Earl, D. J. and Deem, M. W.", "Parallel tempering: Theory, applications, and new perspectives",
        "Physical Chemistry Chemical Physics", "7", "3910", 2005, "10.1039/b509983h",
    ),
    "hu2019": (
        "Hu, Y. and Li, T.-M. and Anderson, L. and Ragan-Kelley, J. and Durand, F.",
        "Taichi: a language for high-performance computation on spatially sparse data structures",
        "ACM Transactions on Graphics", "38", "201", 2019, "10.1145/3355089.3356506",
    ),
    "larsen2017": (
        "Hjorth Larsen, A. and Mortensen, J. J. and others",
        "The atomic simulation environment - a Python library for working with atoms",
        "Journal of Physics: Condensed Matter", "29", "273002", 2017, "10.1088/1361-648X/aa680e",
    ),
}  # fmt: skip
"""Authors, title, journal, volume, first page, year and DOI, by the keys that methods paragraphs cite."""
OF_PROGRAM = ("taichimd", "hu2019", "larsen2017")
"""Keys that every calculation cites."""
_PAPER = re.compile(
    r"(?P<authors>[^\d]+?), (?P<journal>[^\d,]+?) (?P<volume>[A-Z]?\d+[A-Z]?), (?P<pages>[\w.-]+) "
    r"\((?P<year>\d{4})\)"
)


def keys() -> list[str]:
    """All keys of methods."""
    return list(_ENTRIES)


def bibtex(wanted: Iterable[str], potentials: Sequence[tuple[str, str | None]] = ()) -> str:
    """BibTeX of methods by their keys, of potentials (citation and DOI), and of taichimd."""
    entries = [_of_program()]
    for key in dict.fromkeys([*wanted, *OF_PROGRAM[1:]]):
        if key in _ENTRIES:
            authors, title, journal, volume, pages, year, doi = _ENTRIES[key]
            entries.append(
                _entry("article", key, author=authors, title=f"{{{title}}}", journal=journal, volume=volume,
                       pages=pages, year=str(year), doi=doi)
            )  # fmt: skip
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
