"""Particle or tuple decomposition: which threads do the work of a force field's tuples."""

from taichimd.errors import SettingsError
from taichimd.forcefields.terms import Terms

PARTICLE, TUPLE, AUTO = DECOMPOSITIONS = ("particle", "tuple", "auto")


def check(decomposition: str) -> str:
    """The decomposition itself.

    Raises:
        SettingsError: it is none.
    """
    if decomposition not in DECOMPOSITIONS:
        raise SettingsError(
            f"decomposition is {decomposition!r}, expected one of {', '.join(DECOMPOSITIONS)}"
        )
    return decomposition


def choose(decomposition: str, terms: Terms, all_pairs: bool, backend: str, n_atoms: int) -> str:
    """Particle or tuple, for what a user has asked for.

    Raises:
        SettingsError: a name that is none; tuples without neighbour lists.
    """
    if check(decomposition) == TUPLE and all_pairs:
        raise SettingsError(
            'decomposition "tuple" needs neighbour lists; the enumeration "all-pairs" has none'
        )
    return PARTICLE if decomposition == AUTO else decomposition
