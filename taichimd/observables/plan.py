"""A plan of what a run observes: when samples are taken, in which blocks, for which window. Plain data."""

import json
from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from taichimd.core.errors import CheckpointError
from taichimd.estimators.bond_history import BondRule

ORIGINS = 100
"""Time origins of msd and vacf within a window, about: memory and the cost of a sample grow with them."""

BOND_ORDER = 0.3
"""Above which two atoms are of one molecule, where nothing else is asked."""

_RULE = BondRule()


def between_origins(lags: int) -> int:
    """Samples between time origins of a window of so many samples."""
    return max(1, lags // ORIGINS)


@dataclass(frozen=True)
class Plan:
    """Samples of one run, in equal blocks for the errors."""

    kinds: tuple[str, ...]  # names of `registry.OF_RUNS`
    every: int  # steps between samples
    first_step: int  # where the run begins
    samples: int  # in the whole run, at the multiples of `every`
    interval: float  # ps between samples
    blocks: int  # pieces of the run
    lags: int  # samples that the correlation window spans
    r_max: float  # angstrom, of the RDF
    bins: int  # of the RDF
    bond_order: float = BOND_ORDER  # above which two atoms are of one molecule
    profile_axis: Literal["x", "y", "z"] = "x"  # x, y or z
    profile_bin: float = 5.0  # width of the bins of a profile, angstrom, about
    spectrum_axis: Literal["x", "y", "z"] = "x"  # x, y or z
    spectrum_of: str = "all"  # names of groups
    spectrum_lags: int = 1  # samples of the window
    interface_of: str = ""  # names of two groups, such as "left>right"
    bond_formed: float = _RULE.formed  # bond order, as in `BondRule`
    bond_broken: float = _RULE.broken  # bond order, as in `BondRule`
    bond_lifetime: float = _RULE.lifetime  # shortest lifetime of reactions, ps

    @property
    def length(self) -> int:
        """Samples of a block of the correlations; what does not fill the blocks is left out at the start."""
        return self.samples // self.blocks

    @property
    def origin_every(self) -> int:
        """Samples between time origins of msd and vacf."""
        return between_origins(self.lags)

    @property
    def bond_rule(self) -> BondRule:
        """When a pair of atoms is bonded, for reactions."""
        return BondRule(self.bond_formed, self.bond_broken, self.bond_lifetime)

    def with_rule(self, rule: BondRule) -> "Plan":
        """This plan with another rule of bonds for reactions."""
        return replace(self, bond_formed=rule.formed, bond_broken=rule.broken, bond_lifetime=rule.lifetime)

    def to_json(self) -> dict[str, Any]:
        """For checkpoints and reports."""
        return {**asdict(self), "kinds": list(self.kinds)}

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "Plan":
        """What `to_json` gave, or a CheckpointError."""
        try:
            # As JSON: there a strict reader takes the list that a tuple has become.
            _READER.validate_json(json.dumps(saved), strict=True)
            found = cls(**{**saved, "kinds": tuple(saved["kinds"])})
        except (ValidationError, TypeError, KeyError) as error:
            reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
            raise damaged(f"plan: {reason}") from None
        least = {
            "every": 1,
            "first_step": 0,
            "samples": 0,
            "blocks": 1,
            "lags": 0,
            "bins": 1,
            "spectrum_lags": 1,
        }
        wrong = [name for name, value in least.items() if not value <= getattr(found, name) < 2**53]
        wrong += [
            name
            for name in ("interval", "r_max", "bond_order", "profile_bin")
            if not 0 < getattr(found, name) < inf
        ]
        wrong += [name for name in ("bond_broken", "bond_lifetime") if not 0 <= getattr(found, name) < inf]
        wrong += [] if found.bond_broken <= found.bond_formed < inf else ["bond_formed"]
        if wrong:
            raise damaged(f"plan: {wrong[0]} = {getattr(found, wrong[0])!r}")
        return found


_READER = TypeAdapter(Plan)


def damaged(what: str) -> CheckpointError:
    """The error of a checkpoint whose observations cannot be read."""
    return CheckpointError(
        f"what the checkpoint has observed is damaged ({what}); continue from an earlier one, or without it: "
        "--observe none"
    )
