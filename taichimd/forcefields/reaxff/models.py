"""Charge models beyond plain QEq, and a field: what they take of a parameter file, of options and species."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taichimd.core.errors import MissingParameterError, ParameterFileError
from taichimd.forcefields.reaxff.columns import SOFTNESS, SOFTNESS_RADIUS
from taichimd.forcefields.reaxff.ffield import FField
from taichimd.forcefields.reaxff.field_of_time import FieldOfTime
from taichimd.forcefields.reaxff.options import ACKS2, OVERLAPPING, QTPIE, Options
from taichimd.forcefields.reaxff.rules import part_radii, types_of
from taichimd.forcefields.reaxff.solve_tables import GIVEN, SOFT

EXPONENTS = {"H": 0.5434, "O": 0.2240}
"""Exponents of the Gaussians, bohr^-2: J. Chen, Theory and applications of fluctuating-charge models, thesis
(University of Illinois, 2009), table 2.2; the numbers of LAMMPS's example of fix qtpie/reaxff."""
PER_A2 = 3.571064831
"""Angstrom^-2 for 1 bohr^-2."""
LEAST_OVERLAP = 1e-10
"""exp(-a r^2/2) for the smallest exponent a at the distance where overlaps end."""
LEAST_SOFTNESS = 1.0
"""e^2/eV: files without parameters of ACKS2 have less in this place."""


@dataclass(frozen=True)
class Model:
    """A charge model for some species."""

    name: str  # one of `options.MODELS`
    field: tuple[float, ...] | FieldOfTime | None  # V/angstrom, or of time; None without one
    field_ev: float  # energy of 1 e in a potential of 1 V, eV
    consistent: bool  # whether energies and forces are those that are stationary at the solved charges
    scale: float  # factor of the field in the electronegativities of overlapping models
    exponents: NDArray[np.float64]  # (kinds) of the Gaussians, angstrom^-2; empty for other models
    softness: float  # Lambda of ACKS2, e^2/eV
    radii: NDArray[np.float64]  # (kinds, kinds) R_ij of ACKS2, angstrom
    reference: tuple[tuple[Any, float], ...]  # (atom, e) reference charges that differ from `rest`
    rest: float  # sum of the reference charges of the others, e, divided equally

    @property
    def form(self) -> int:
        """What the solver solves."""
        return SOFT if self.name == ACKS2 else GIVEN

    @property
    def overlaps(self) -> bool:
        """Whether electronegativities are averages over overlapping Gaussians."""
        return self.name in OVERLAPPING

    @property
    def differences(self) -> bool:
        """Whether these averages are of the electronegativities of the file."""
        return self.name == QTPIE

    @property
    def pulls(self) -> bool:
        """Whether the field acts on charges as such, with an energy of its own."""
        return self.field is not None and not (self.overlaps and self.consistent)

    @property
    def reach(self) -> float:
        """Distance at which overlaps end, angstrom; 0 without overlaps."""
        return sqrt(-2.0 * log(LEAST_OVERLAP) / self.exponents.min()) if self.overlaps else 0.0

    def references(self, n: int) -> NDArray[np.float64]:
        """(n) reference charges, e, in the user's order."""
        found = np.full(n, 0.0 if self.reference else self.rest / n)
        for atom, charge in self.reference:
            found[int(atom)] = charge
        return found

    def numbers(self) -> dict[str, Any]:
        """What is computed with, beside the options, for a digest."""
        return {
            "exponents": self.exponents.tolist(), "softness": self.softness, "radii": self.radii.tolist()
        }  # fmt: skip


def model_of(ffield: FField, options: Options, species: Sequence[str]) -> Model | None:
    """The model of these options; None for plain QEq without a field.

    Raises:
        MissingParameterError: an element without an exponent.
        ParameterFileError: a file without parameters of ACKS2.
    """
    model = options.model
    if model == "qeq" and not options.field:
        return None
    exponents, radii, n = np.zeros(0), np.zeros((len(species),) * 2), len(species)
    if model in OVERLAPPING:
        exponents = PER_A2 * _exponents(options, species)
    if model == ACKS2:
        check_softness(ffield)
        b = np.array([ffield.atoms[kind - 1][SOFTNESS_RADIUS] for kind in types_of(ffield, species)])
        radii = np.maximum(0.5 * (b.reshape(n, 1) + b.reshape(1, n)), 0.0)
    return Model(
        model, options.field or None, options.field_ev, options.consistent, options.field_scale,
        exponents, ffield.general[SOFTNESS], radii, options.reference_charges, options.net_charge,
    )  # fmt: skip


def _exponents(options: Options, species: Sequence[str]) -> NDArray[np.float64]:
    known = EXPONENTS | dict(options.exponents)
    if missing := [name for name in species if name not in known]:
        raise MissingParameterError(
            f"charges={options.model} needs the exponent of a Gaussian for {', '.join(missing)}; known are "
            f"{', '.join(sorted(known))}: give it in bohr^-2, as in exponents={missing[0]}:0.2"
        )
    return np.array([known[name] for name in species])


def check_softness(ffield: FField) -> None:
    """Refuse a file without parameters of ACKS2.

    Raises:
        ParameterFileError: it is one.
    """
    softness = ffield.general[SOFTNESS]
    if softness < LEAST_SOFTNESS:
        raise ParameterFileError(
            f"{ffield.path}: general parameter 35 (softness of ACKS2) is {softness:g}, expected more than "
            f"{LEAST_SOFTNESS:g} e^2/eV: the file is not made for charges=acks2; use a file for ACKS2, or "
            "charges=qeq"
        )
    for bond in ffield.bonds:
        i, j = (ffield.atoms[kind - 1] for kind in bond.types)
        if 0.5 * (i[SOFTNESS_RADIUS] + j[SOFTNESS_RADIUS]) > part_radii(i, j, None)[0] > 0.0:
            return
    raise ParameterFileError(
        f"{ffield.path}: column 7 of the third line of each atom (bond cutoff of ACKS2) is shorter than "
        "every bond: the file is not made for charges=acks2; use a file for ACKS2, or charges=qeq"
    )
