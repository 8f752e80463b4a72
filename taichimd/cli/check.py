"""`taichimd check`: is a force field consistent?"""

from typing import Annotated

import typer

from taichimd.cli.given import look_for
from taichimd.cli.numbers import whole
from taichimd.cli.options import Backend, Decomposition, PotentialArgument, PotentialInstead
from taichimd.cli.say import say

NOT_CONSISTENT = 1


def check(
    potentials: PotentialArgument = None,
    potential: PotentialInstead = None,
    elements: Annotated[
        str | None,
        typer.Option(help='Elements of the test clusters, such as "Si,C"; default all of the force field.'),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the clusters.", parser=whole)] = 0,
    backend: Backend = "auto",
    decomposition: Decomposition = "auto",
) -> int:
    """Check forces and virial of a force field against finite differences, and its smoothness at cutoffs.

    Ends with exit code 1 if they do not agree on random clusters of its elements, or if a three-body term
    does not vanish at its cutoff or is not smooth at angles of 0 and 180 degrees. For a ReaxFF parameter file
    the command prints what the file defines, and suspicious values. For any parameter file it prints the
    range and the warnings of the file.
    """
    from taichimd.core.errors import SettingsError
    from taichimd.settings.run import SETTINGS

    species = symbols_of(elements)
    if not (given := [*(potentials or ()), *(potential or ())]):
        raise SettingsError(f"no potential given: expected {SETTINGS['potential'].values.expected}")
    if seed < 0:
        raise SettingsError(f"seed = {seed}: expected a whole number, 0 or above")
    look_for(potentials=given)

    from taichimd.core.runtime import start
    from taichimd.forcefields.load import load_forcefield
    from taichimd.program.check import check_forcefield

    if len(given) == 1 and (text := _reaxff(given[0], species)):
        say(text)
        return 0
    forcefield = load_forcefield(given)
    start(backend)
    found = check_forcefield(forcefield, species, seed=seed, decomposition=decomposition)
    say("\n  ".join([str(found), *forcefield.errors_of_tables, *forcefield.about]))
    return 0 if found.ok else NOT_CONSISTENT


def _reaxff(potential: str, species: list[str] | None) -> str | None:
    """What a ReaxFF parameter file defines; None if the potential is none."""
    from taichimd.forcefields import library
    from taichimd.forcefields.load import load_forcefield
    from taichimd.forcefields.reaxff.describe import describe
    from taichimd.forcefields.reaxff.ffield import is_ffield_file, read_ffield
    from taichimd.forcefields.spec import split_spec

    file, options = split_spec(potential)
    if file.endswith(".py") or not is_ffield_file(path := library.find(file)):
        return None
    if options:
        load_forcefield(potential)
    return describe(read_ffield(path), species)


def symbols_of(text: str | None) -> list[str] | None:
    """Elements of a text such as "Si,C"; None of None. SettingsError: a part that is no chemical symbol."""
    from taichimd.core.elements import is_symbol
    from taichimd.core.errors import SettingsError

    if text is None:
        return None
    symbols = [part.strip() for part in text.split(",")]
    if wrong := [symbol for symbol in symbols if not is_symbol(symbol)]:
        raise SettingsError(f"elements: {wrong[0]!r} is not a chemical symbol; expected a list such as Si,C")
    return symbols
