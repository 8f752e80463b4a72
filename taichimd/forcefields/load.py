"""From what a user writes to a force field: a file, a shipped name, a Python object."""

import importlib
import inspect
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any

from taichimd.core.errors import ParameterFileError, SettingsError, TaichimdWarning
from taichimd.forcefields import library
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.contract import ExternalPotential
from taichimd.forcefields.contribution import Contribution
from taichimd.forcefields.formats.header import Header
from taichimd.forcefields.formats.potfit import is_potfit
from taichimd.forcefields.formats.text import read_lines
from taichimd.forcefields.siblings import imported_beside, siblings
from taichimd.forcefields.spec import is_code, read_options, split_spec
from taichimd.forcefields.term import Source
from taichimd.forcefields.user_files import digest, loaded, told

_MAKERS = {
    "tersoff": ("tersoff", "Tersoff"), "sw": ("stillinger_weber", "StillingerWeber"),
    "vashishta": ("vashishta", "Vashishta"), "tersoff/mod": ("tersoff_mod", "TersoffMod"),
    "tersoff/mod/c": ("tersoff_mod", "TersoffMod"), "tersoff/zbl": ("tersoff_zbl", "TersoffZBL"),
    "pair": ("pair_file", "PairPotential"), "sw/mod": ("sw_mod", "StillingerWeberMod"),
    "eam/alloy": ("eam", "EmbeddedAtom"), "eam/fs": ("eam", "EmbeddedAtom"), "eam": ("eam", "EmbeddedAtom"),
    "edip/multi": ("edip", "Edip"), "potfit": ("potfit", "PotfitPotential"),
}  # fmt: skip
"""Module and function by kind of file; imported when they are needed."""


def load_forcefield(spec: Any) -> ForceField:
    """Make a force field from a file, a name, Python code or a sum of these.

        >>> from taichimd import load_forcefield
        >>> load_forcefield("Si.sw").cutoff < 3.8
        True

    Args:
        spec: a parameter file (path or shipped name), whose suffix says the kind. A file of ReaxFF may have
            any name, and options after a colon: "CHO.ffield:constants=consistent". Or
            "my_file.py:my_potential" (a ForceField, or a function without arguments that returns one), a
            ForceField, or an `ExternalPotential`. A list of these is their sum; if a list has a file twice, a
            warning says so.

    Returns:
        The force field.

    Raises:
        ParameterFileError: no such file, unknown suffix, a malformed file, or an empty list.
        SettingsError: a sum with a force field that has no neighbour lists, or unknown options.
    """
    if isinstance(spec, ForceField):
        return spec
    if isinstance(spec, list | tuple) and spec:
        return _sum_of(spec)
    if isinstance(spec, ExternalPotential):
        from taichimd.forcefields.external import external

        return external(spec)
    if not isinstance(spec, str | PathLike):
        what = "an empty list" if isinstance(spec, list | tuple) else f"a {type(spec).__name__}"
        raise ParameterFileError(
            f"potential is {what}, expected a file, a shipped name, 'my_file.py:my_potential', a force field "
            "object, or several of these; an ASE calculator is given as taichimd.from_ase(calculator)"
        )
    file, rest = split_spec(str(spec))
    if is_code(str(spec)):
        if not rest:
            raise ParameterFileError(f"{file}: say which force field to take from it, as {file}:my_potential")
        return _from_python(Path(file), rest[1:])
    return _from_parameters(library.find(file), rest[1:])


def _from_parameters(path: Path, options: str) -> ForceField:
    """The force field of a parameter file, with options as text."""
    from taichimd.forcefields.reaxff.ffield import is_ffield_file

    if is_ffield_file(path):
        from taichimd.forcefields.reaxff.forcefield import ReaxFF
        from taichimd.forcefields.reaxff.options import Options

        defaults = asdict(Options()) | {"charge": 0.0}
        return ReaxFF(path, **(read_options(path.name, options, defaults) if options else {}))
    if options:
        raise SettingsError(f"{path.name}: {options!r} are options, which only ReaxFF takes; leave them out")
    if path.suffix in (".lj", ".atm"):
        return (_lennard_jones if path.suffix == ".lj" else _axilrod_teller)(path)
    kind = library.kind_of(path) or ("potfit" if is_potfit(read_lines(path)) else None)
    if kind in _MAKERS:
        module, name = _MAKERS[kind]
        found: ForceField = getattr(importlib.import_module(f"taichimd.forcefields.{module}"), name)(path)
        return found
    raise ParameterFileError(
        f"{path.name}: unknown kind of parameter file '{path.suffix}', "
        f"expected {', '.join(library.KINDS)}, an ffield file of ReaxFF or file.py:name"
    )


def _one_by_one(specs: Sequence[Any]) -> tuple[list[Any], list[ForceField]]:
    """The force fields of a sum with what was given for each: `.eam` files of elements are one potential."""
    texts = [str(one) if isinstance(one, str | PathLike) else "" for one in specs]
    of_elements = [k for k, text in enumerate(texts) if library.kind_of(Path(text)) == "eam"]
    if len(of_elements) < 2:
        return list(specs), [load_forcefield(one) for one in specs]
    from taichimd.forcefields.eam import EmbeddedAtom

    found: list[tuple[Any, ForceField]] = []
    for k, one in enumerate(specs):
        if k == of_elements[0]:
            found.append((one, EmbeddedAtom(*(texts[other] for other in of_elements))))
        elif k not in of_elements:
            found.append((one, load_forcefield(one)))
    return [one for one, _ in found], [made for _, made in found]


def _sum_of(specs: Sequence[Any]) -> ForceField:
    """The sum, with a warning of each file, or each name in a Python file, that is in it twice."""
    specs, forcefields = _one_by_one(specs)
    seen = set()
    for spec, forcefield in zip(specs, forcefields, strict=True):
        if not isinstance(spec, str | PathLike) or forcefield.source is None:
            continue
        key = Path(forcefield.source).resolve(), forcefield.file and str(spec).rpartition(":")[2]
        if key in seen:
            told = f"{spec} is in the sum twice: it counts twice; leave one out"
            warnings.warn(told, TaichimdWarning, stacklevel=3)
        seen.add(key)
    total: ForceField = sum(forcefields[1:], forcefields[0])
    return total


def _lennard_jones(path: Path) -> ForceField:
    from taichimd.forcefields.formats.lj import read_lj
    from taichimd.forcefields.lennard_jones import LennardJones

    parsed = read_lj(path)
    made = LennardJones(
        pairs={
            pair: {"epsilon": e.epsilon, "sigma": e.sigma, "cutoff": e.cutoff}
            for pair, e in parsed.pairs.items()
        },
        mixing=parsed.mixing,
        truncation=parsed.truncation,
        name=path.name,
        citation=parsed.header.citation,
        source=str(path),
    )
    return _with_header(made, parsed.header)


def _axilrod_teller(path: Path) -> ForceField:
    from taichimd.forcefields.axilrod_teller import AxilrodTeller
    from taichimd.forcefields.formats.atm import read_atm

    parsed = read_atm(path)
    made = AxilrodTeller(
        parsed.triples,
        parsed.cutoff,
        parsed.product_cutoff,
        name=path.name,
        citation=parsed.header.citation,
        source=str(path),
    )
    return _with_header(made, parsed.header)


def _with_header(forcefield: ForceField, header: Header) -> ForceField:
    """Note what a file says of the range of its parameters."""
    known: dict[str, Any] = {
        "doi": header.doi,
        "valid_range": header.valid_range,
        "cautions": header.warnings,
    }
    parts = (
        replace(one, terms=tuple(replace(term, **known) for term in one.terms))
        for one in forcefield.contributions
    )
    return replace(forcefield, contributions=tuple(parts))


def _from_python(file: Path, name: str) -> ForceField:
    if not file.is_file():
        raise ParameterFileError(f"{file}: no such file")
    path, source = file.resolve(), Source(str(file), digest(file))
    with siblings(path.parent):
        before = set(sys.modules)
        found = _from_file(_named(loaded(file), file, name), source)
        beside = (Source(str(one), digest(one)) for one in imported_beside(path.parent, before))
        files = (Source(str(path), source.sha256), *found.python_files, *beside)
        return replace(found, python_files=tuple(dict.fromkeys(files)))


def _named(module: ModuleType, file: Path, name: str) -> ForceField:
    """The force field of that name; what making it raises is told with file and line."""
    with told(file):
        return _forcefield_of(module, file, name)


def _from_file(forcefield: ForceField, file: Source) -> ForceField:
    """Note the file, also with the terms that are made in it and name none."""
    here = Path(file.path).resolve()

    def noted(one: Contribution) -> Contribution:
        terms = (
            replace(term, source=file) if term.source is None or Path(term.source.path) == here else term
            for term in one.terms
        )
        return replace(one, terms=tuple(terms))

    return replace(forcefield, contributions=tuple(map(noted, forcefield.contributions)), file=file)


def _forcefield_of(module: ModuleType, file: Path, name: str) -> ForceField:
    from taichimd.forcefields.declare import Declared
    from taichimd.forcefields.own_bond_order import BondOrderPotential
    from taichimd.forcefields.passes import ManyBody

    found = getattr(module, name, None)
    if found is None:
        public = ", ".join(k for k, v in vars(module).items() if isinstance(v, ForceField)) or "none"
        raise ParameterFileError(f"{file} has no '{name}'; force fields it defines: {public}")
    if isinstance(found, Declared | ManyBody | BondOrderPotential):
        raise ParameterFileError(
            f"{file}: {name} is a declared potential without values; it takes {found.takes}: write "
            f"my_potential = {name}(...) in the file, and ask for my_potential"
        )
    if callable(found) and not isinstance(found, ForceField):
        try:
            inspect.signature(found).bind()
        except (TypeError, ValueError):
            raise ParameterFileError(
                f"{file}: {name} needs arguments; expected a force field, or a function without arguments "
                "that returns one"
            ) from None
        found = found()
    if isinstance(found, ExternalPotential):
        found = load_forcefield(found)
    if not isinstance(found, ForceField):
        raise ParameterFileError(f"{file}:{name} is of type {type(found).__name__}, expected a force field")
    return found
