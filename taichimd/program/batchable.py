"""Which potentials have batches, and how messages name the systems of one."""

from collections.abc import Iterator
from contextlib import contextmanager

from taichimd.core.errors import SettingsError, TaichimdError
from taichimd.forcefields.base import ForceField


def called(number: int) -> str:
    """What messages call a system that has no name."""
    return f"system {number} (counted from 0)"


@contextmanager
def errors_name(name: str) -> Iterator[None]:
    """Errors within are of this system."""
    try:
        yield
    except TaichimdError as error:
        error.args = (f"{name}: {error}", *error.args[1:])
        raise


def why_not_batchable(forcefield: ForceField) -> str | None:
    """Why a potential has no batches; None if each of its terms knows the atoms of a system."""
    charged = [term.name for term in forcefield.terms if not term.local]
    if charged:
        return f"{charged[0]} equilibrates the charges of one system at a time"
    joining = [term.name for term in forcefield.terms if term.of_one_system]
    if joining:
        return f"{joining[0]} would join the systems"
    if forcefield.enumeration != "neighbours":
        return f'{forcefield.name}: the enumeration "{forcefield.enumeration}" knows one system'
    return None


def listed(forcefield: ForceField) -> ForceField:
    """The force field, if it has batches.

    Raises:
        SettingsError: it has none.
    """
    why = why_not_batchable(forcefield)
    if why is not None:
        raise SettingsError(f"{why}, and has no batches; run the systems one after the other")
    return forcefield
