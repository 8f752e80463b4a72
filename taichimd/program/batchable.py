"""What several systems can do in the same kernels, and how messages name them."""

from collections.abc import Iterator
from contextlib import contextmanager

from taichimd.core.errors import TaichimdError
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
    """Why systems cannot be computed in the same kernels; None if they can."""
    joining = [term.name for term in forcefield.terms if term.of_one_system]
    if joining:
        return f"{joining[0]} would join the systems"
    if forcefield.enumeration != "neighbours":
        return f'{forcefield.name}: the enumeration "{forcefield.enumeration}" knows one system'
    return None
