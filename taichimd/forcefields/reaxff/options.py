"""How a ReaxFF potential is evaluated, besides what its file says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from math import isfinite
from types import MappingProxyType
from typing import Any, TypedDict

from taichimd.core.arguments import Bundle, Number
from taichimd.core.errors import SettingsError
from taichimd.core.units import KCAL_PER_MOL
from taichimd.forcefields.reaxff.field_of_time import FieldOfTime, read_field

COUPLING = 14.4
"""Coulomb constant of the charge equilibration, eV angstrom/e^2: the same in all programs of this family."""
NORM = "sqrt(sum of r^2/eta)/|b|, for s and for t"
"""Norm of the residuals r of the charge equilibration, which its tolerance bounds."""
EV = 23.02
"""kcal/mol that these programs take for 1 eV."""


INTERVALS = 1000
"""Intervals of the look-up tables of pairs."""


LEAST_TOLERANCE = 1e-14
CHARGES = ("converged", "extended-lagrangian")
"""Charges of a step: solved to the tolerance, or those of an extended Lagrangian (`extended`)."""
QEQ, QEQR, QTPIE, ACKS2 = MODELS = ("qeq", "qeqr", "qtpie", "acks2")
"""Charge models (`electronegativity`, `softness`)."""
OVERLAPPING = (QEQR, QTPIE)
"""Models with overlaps of Gaussians."""
MATRIX_PRECISIONS = ("float64", "float32")


def check_tolerance(tolerance: float) -> None:
    """Refuse a tolerance of the charges that is out of range.

    Raises:
        SettingsError: it is.
    """
    if not LEAST_TOLERANCE <= tolerance < 1.0:
        raise SettingsError(f"charge_tolerance is {tolerance}, expected {LEAST_TOLERANCE} to 1; try 1e-6")


class Constants(Bundle):
    """Constants of the energies that charges have."""

    coulomb: Any = Number("f64", "of the Coulomb energy, eV angstrom/e^2")
    polarisation: Any = Number("f64", "of the polarisation energy, eV of energy for each eV of chi and eta")


CONSTANTS = {
    "lammps": Constants(332.06371 * KCAL_PER_MOL, EV * KCAL_PER_MOL),
    "puremd": Constants(332.0638 * KCAL_PER_MOL, EV * KCAL_PER_MOL),
    "consistent": Constants(COUPLING * EV * KCAL_PER_MOL, EV * KCAL_PER_MOL),
}
"""By the name that users type. With "consistent" the energy is stationary where charges are equilibrated."""


FIELD_EV = {"consistent": EV * KCAL_PER_MOL}
"""Energy (eV) of 1 e in a potential of 1 V, by the name of the constants."""
FIELD_EV_OF_OTHERS = 23.060549 * KCAL_PER_MOL
"""The same of LAMMPS's `fix efield`."""

Pairs = tuple[tuple[Any, float], ...]


@dataclass(frozen=True)
class Options:
    """What `ReaxFF` takes besides the file.

    Raises:
        SettingsError: a name that is none, a number out of range, or options that do not go together.
    """

    constants: str = "lammps"
    charge_tolerance: float = 1e-6
    net_charge: float = 0.0
    lammps_forces: bool = False
    tables: bool = True
    # a charge model, or "converged" or "extended-lagrangian", or one of each with a "+" between
    charges: str = "converged"
    matrix_precision: str = "float64"
    max_iterations: int = 200
    # electric field, V/angstrom, or one of time; empty without one
    field: tuple[float, ...] | FieldOfTime = ()
    field_scale: float = 1.0  # factor of the field in the electronegativities of QEqR and QTPIE
    reference_charges: Pairs = ()  # (atom, charge in e) of ACKS2; atoms that are left out have 0
    exponents: Pairs = ()  # (element, exponent in bohr^-2) of the Gaussians of QEqR and QTPIE

    def __post_init__(self) -> None:
        object.__setattr__(self, "charges", _canonical(self.charges))
        for name, choices in (("constants", tuple(CONSTANTS)), ("matrix_precision", MATRIX_PRECISIONS)):
            if getattr(self, name) not in choices:
                raise SettingsError(
                    f"{name} is {getattr(self, name)!r}, expected one of {', '.join(choices)}"
                )
        check_tolerance(self.charge_tolerance)
        if not 1 <= self.max_iterations < 2**31:
            raise SettingsError(f"max_iterations is {self.max_iterations}, expected 1 to 2^31 - 1; try 200")
        if not isfinite(self.net_charge):
            raise SettingsError(f"net_charge is {self.net_charge}, expected a finite number (e)")
        _check_field(self)
        _check_model(self)

    @cached_property
    def model(self) -> str:
        """The charge model."""
        first = self.charges.partition("+")[0]
        return first if first in MODELS else QEQ

    @property
    def extended(self) -> bool:
        """Whether charges are those of an extended Lagrangian."""
        return self.charges.endswith(CHARGES[1])

    @property
    def consistent(self) -> bool:
        """Whether the energy is stationary at the solved charges."""
        return self.constants == "consistent"

    @property
    def field_ev(self) -> float:
        """Energy of 1 e in a potential of 1 V, eV."""
        return FIELD_EV.get(self.constants, FIELD_EV_OF_OTHERS)

    def record(self) -> dict[str, Any]:
        """All options by name, for a JSON file; the newer ones only where they are not their defaults."""
        newer, defaults = ("field", "field_scale", "reference_charges", "exponents"), Options.__dict__
        return {
            one.name: _plain(getattr(self, one.name))
            for one in fields(self)
            if one.name not in newer or getattr(self, one.name) != defaults[one.name]
        }


def _plain(value: Any) -> Any:
    if isinstance(value, FieldOfTime):
        return value.record()
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def _canonical(text: str) -> str:
    """The words of `charges` in one order, without a default beside another word.

    Raises:
        SettingsError: a word that is none, or two of a kind.
    """
    words = [word.strip() for word in str(text).split("+")]
    models, ways = [w for w in words if w in MODELS], [w for w in words if w in CHARGES]
    if len(models) + len(ways) < len(words) or len(models) > 1 or len(ways) > 1:
        raise SettingsError(
            f"charges is {text!r}, expected one of {', '.join((*CHARGES, *MODELS))}, or a model and one of "
            "the first two, as in qtpie+extended-lagrangian"
        )
    model, way = (models or [QEQ])[0], (ways or [CHARGES[0]])[0]
    kept = ([model] if model != QEQ else []) + ([way] if way != CHARGES[0] else [])
    return "+".join(kept) or CHARGES[0]


def _check_field(options: Options) -> None:
    field = options.field
    if not isfinite(options.field_scale):
        raise SettingsError(f"field_scale is {options.field_scale}, expected a finite number; try 1")
    if field and options.model in OVERLAPPING and options.net_charge != 0.0:
        raise SettingsError(
            f"net_charge is {options.net_charge:g} in a field with charges={options.model}: the forces of "
            "this model on all atoms add up to 0, but a charge in a field is pulled; use charges=qeq or acks2"
        )


def _check_model(options: Options) -> None:
    model = options.model
    if options.exponents and model not in OVERLAPPING:
        raise SettingsError(f"exponents are of charges=qeqr and qtpie, but charges={model}; leave them out")
    for element, exponent in options.exponents:
        if not (isfinite(exponent) and exponent > 0.0):
            raise SettingsError(
                f"exponent of {element} is {exponent}, expected more than 0 (bohr^-2), as in H:0.5434"
            )
    if options.reference_charges and model != ACKS2:
        raise SettingsError(f"reference_charges are of charges=acks2, but charges={model}; leave them out")
    if model != ACKS2:
        return
    if options.extended:
        raise SettingsError(
            "charges=acks2 has no extended Lagrangian: one iteration of its solver is too inaccurate; "
            "use charges=acks2"
        )
    if options.matrix_precision != MATRIX_PRECISIONS[0]:
        raise SettingsError("charges=acks2 needs matrix_precision=float64; leave matrix_precision out")
    total = sum(charge for _, charge in options.reference_charges)
    if options.reference_charges and not isfinite(total):
        raise SettingsError("reference_charges: expected finite numbers (e), as in 12:1")
    if options.reference_charges and abs(total - options.net_charge) > 1e-9:
        raise SettingsError(
            f"reference_charges add up to {total:g} e, but charge is {options.net_charge:g} e; give the same"
        )


class ResponseOptions(TypedDict, total=False):
    """Options of charge models and fields.

    Attributes:
        field: uniform electric field, three numbers, V/angstrom; or of the time (fs): a function, rows of a
            time and three numbers, or the name of a file of such rows.
        field_scale: factor of the field in the electronegativities of qeqr and qtpie; 1 by default.
        charge: sum of all charges, e; the same as `net_charge`.
        reference_charges: of acks2, the charges (e) that atoms have before charge flows: {atom: charge}, with
            0 for the other atoms, or one number for each atom.
        exponents: of qeqr and qtpie, exponents of the Gaussians by element, bohr^-2; known of H and O.
    """

    field: Any
    field_scale: float
    charge: float
    reference_charges: Mapping[int, float] | Sequence[float]
    exponents: Mapping[str, float]


def made(
    plain: Mapping[str, Any],
    constants: str | None,
    net_charge: float,
    max_iterations: int | None,
    *,
    field: Any = (),
    field_scale: float = 1.0,
    charge: float | None = None,
    reference_charges: Mapping[int, float] | Sequence[float] = (),
    exponents: Mapping[str, float] = MappingProxyType({}),
) -> Options:
    """The options of a call of `ReaxFF`, with the defaults that its charge model has.

    Args:
        plain: other options by name.
        constants: as there; None: the default of the model.
        net_charge: e.
        max_iterations: as there; None: the default of the model.
        field: see `ResponseOptions`.
        field_scale: likewise.
        charge: likewise.
        reference_charges: likewise.
        exponents: likewise.

    Raises:
        SettingsError: see `Options`; two different net charges.
    """
    if charge is not None and net_charge not in (0.0, charge):
        raise SettingsError(f"charge is {charge} and net_charge is {net_charge}; give one of them")
    reference, model = _charges_of(reference_charges), Options(charges=plain["charges"]).model
    if charge is None:
        charge = net_charge or sum(one for _, one in reference)
    if constants is None:
        constants = "consistent" if model in OVERLAPPING else "lammps"
    if max_iterations is None:
        max_iterations = 1000 if model == ACKS2 else 200
    return Options(
        constants=constants, net_charge=float(charge), max_iterations=max_iterations,
        field=read_field(field), field_scale=field_scale, reference_charges=reference,
        exponents=_exponents_of(exponents), **plain,
    )  # fmt: skip


def _exponents_of(given: Mapping[str, float]) -> Pairs:
    try:
        return tuple((str(name), float(a)) for name, a in sorted(dict(given).items()))
    except (TypeError, ValueError):
        raise SettingsError(
            f"exponents is {given!r}, expected {{element: exponent in bohr^-2}}, as in {{'C': 0.2069}}; as "
            "text C:0.2069"
        ) from None


def _charges_of(given: Mapping[Any, float] | Sequence[float]) -> tuple[tuple[Any, float], ...]:
    """Atoms and their reference charges, without atoms that have 0."""
    pairs = given.items() if isinstance(given, Mapping) else enumerate(given)
    try:
        return tuple(sorted((int(atom), float(charge)) for atom, charge in pairs if charge))
    except (TypeError, ValueError):
        raise SettingsError(
            f"reference_charges is {given!r}, expected {{atom: charge in e}}, as in {{12: 1}} (12:1 as text)"
        ) from None
