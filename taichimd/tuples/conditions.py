"""Which tuples count: conditions on the strengths of their bonds, tested from the inside out.

P. E. Small et al. (HPC Asia 2018, doi:10.1145/3149457.3149463, Algorithm 3) list the quadruplets i-j-k-l of a
reactive force field under conditions on bond orders: BO > c for each bond, the product > c for two bonds of one
atom, and BO_ij BO_jk^2 BO_kl > c2 for the chain. `bond_order_products` is that; other conditions are other
functions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

from taichimd.core.errors import SettingsError
from taichimd.core.runtime import ti

CURE = "list fewer bonds, raise the cutoffs of the condition, or use fewer atoms"
"""What to do when a list does not fit."""


@ti.func
def any_bond(s):
    """Accept a bond of any strength s."""
    return True


@ti.func
def any_angle(s, t):
    """Accept two bonds of one atom of any strengths."""
    return True


@ti.func
def any_chain(s_ij, s_jk, s_kl):
    """Accept a chain of any strengths."""
    return True


@dataclass(frozen=True)
class Condition:
    """Device functions (`ti.func`) of bond strengths that say whether a tuple is accepted.

    A chain must pass all three, an angle the first two. They must not depend on the direction in which a
    tuple is read: the direction is that of the atoms' numbers.

    Attributes:
        bond: of one strength: each bond of a tuple.
        angle: of two: bonds that share an atom, in any order.
        chain: of three, outer, central, outer.
    """

    bond: Callable[..., Any] = any_bond
    angle: Callable[..., Any] = any_angle
    chain: Callable[..., Any] = any_chain


@cache
def bond_order_products(cutoff: float, cutoff2: float) -> Condition:
    """The condition of Algorithm 3: s > cutoff, s t > cutoff, s_ij s_jk^2 s_kl > cutoff2.

    Raises:
        SettingsError: a cutoff that is negative, which would accept everything, or not a number.
    """
    for name, value in (("cutoff", cutoff), ("cutoff2", cutoff2)):
        if not 0.0 <= value < float("inf"):
            raise SettingsError(f"{name} = {value}: expected a bond order, 0 or more")

    @ti.func
    def bond(s):
        return s > cutoff

    @ti.func
    def angle(s, t):
        return s * t > cutoff

    @ti.func
    def chain(s_ij, s_jk, s_kl):
        # The outer ones first: a chain and its reverse must round alike.
        return (s_ij * s_kl) * (s_jk * s_jk) > cutoff2

    return Condition(bond, angle, chain)


@cache
def search(condition: Condition) -> Any:
    """Device functions with which all loops over tuples decide, for one condition.

    A bond and its reverse are one bond: `opens` accepts the one that stands first.
    """

    @ti.func
    def opens(b, bonds: ti.template()):
        """Whether b, and not its reverse, stands for an accepted bond."""
        return b < bonds.reverse[b] and condition.bond(bonds.strength[b])

    @ti.func
    def beside(b, p, bonds: ti.template()):
        """Whether bond p may follow bond b of the same atom, which is accepted."""
        s, t = bonds.strength[p], bonds.strength[b]
        return p != b and condition.bond(s) and condition.angle(s, t)

    @ti.func
    def closes(p, b, q, bonds: ti.template()):
        """Whether p, b, q make a chain i-j-k-l; in a triangle l would be i, in the same image."""
        same = bonds.partner[p] == bonds.partner[q]
        ring = same and bonds.image[p] == bonds.image[b] + bonds.image[q]
        return not ring and condition.chain(bonds.strength[p], bonds.strength[b], bonds.strength[q])

    return SimpleNamespace(opens=opens, beside=beside, closes=closes)
