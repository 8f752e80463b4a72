"""ReaxFF as a force field: a parameter file and how it is evaluated."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from ase import Atoms

from taichimd.core.errors import SettingsError
from taichimd.enumerate.terms import Terms
from taichimd.forcefields import library
from taichimd.forcefields.base import ForceField
from taichimd.forcefields.bound import Bound
from taichimd.forcefields.code import Code, code_of
from taichimd.forcefields.reaxff.angles import angles_function
from taichimd.forcefields.reaxff.bond_orders import bond_orders_function
from taichimd.forcefields.reaxff.chain import chain_function
from taichimd.forcefields.reaxff.coordination import coordination_function
from taichimd.forcefields.reaxff.electronegativity import response_kernels
from taichimd.forcefields.reaxff.evaluator import BondRoom, ReaxEvaluator
from taichimd.forcefields.reaxff.ffield import FField, read_ffield
from taichimd.forcefields.reaxff.field_of_time import FieldOfTime
from taichimd.forcefields.reaxff.hydrogen_bonds import REACH, hydrogen_bonds_function
from taichimd.forcefields.reaxff.models import Model, model_of
from taichimd.forcefields.reaxff.nonbonded import nonbonded_kernels
from taichimd.forcefields.reaxff.options import ACKS2, NORM, OVERLAPPING, Options, made
from taichimd.forcefields.reaxff.parameters import ATOM, Parameters, tables
from taichimd.forcefields.reaxff.solver import solver_kernels
from taichimd.forcefields.reaxff.suspicious import warnings_of
from taichimd.forcefields.reaxff.tables import bond_reaches
from taichimd.forcefields.reaxff.torsions import torsions_function
from taichimd.forcefields.table import Table
from taichimd.forcefields.term import QUEUED, Term, source_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from taichimd.forcefields.reaxff.options import ResponseOptions


@dataclass(frozen=True)
class _Functions:
    """What is computed: the makers of all kernels."""

    bond_orders: Any = bond_orders_function.__wrapped__
    coordination: Any = coordination_function.__wrapped__
    angles: Any = angles_function.__wrapped__
    torsions: Any = torsions_function.__wrapped__
    hydrogen_bonds: Any = hydrogen_bonds_function.__wrapped__
    chain: Any = chain_function.__wrapped__
    nonbonded: Any = nonbonded_kernels.__wrapped__
    solver: Any = solver_kernels.__wrapped__


@dataclass(frozen=True)
class _ModelFunctions(_Functions):
    """The same of charge models, and in a field."""

    model: Any = response_kernels.__wrapped__


@dataclass(frozen=True)
class ReaxTerm(Term):
    """All terms of ReaxFF.

    Attributes:
        ffield: the parameter file.
        options: how it is evaluated.
    """

    timestep: ClassVar[float] = 0.25
    local: ClassVar[bool] = False
    ffield: FField | None = None
    options: Options = Options()  # noqa: RUF009
    has_bonds: ClassVar[bool] = True

    def suspicions(self, species: Sequence[str]) -> list[str]:
        """See `Term`."""
        assert self.ffield is not None
        known = [name for name in species if name in self.ffield.names]
        return warnings_of(self.ffield, known)

    def longest_timestep(self, species: Sequence[str]) -> float | None:
        """0.5 fs with hydrogen."""
        return 0.5 if "H" in species else None

    def check_structure(self, atoms: Atoms) -> None:
        """Refuse a field along a periodic direction where charges feel its potential, and unknown atoms.

        Raises:
            SettingsError: one of these.
        """
        options = self.options
        if options.field and options.model not in OVERLAPPING:
            vectors = zip("abc", atoms.cell.array, atoms.pbc, strict=True)
            given = options.field
            each = given.samples() if isinstance(given, FieldOfTime) else np.array([given])
            along = [name for name, v, p in vectors if p and abs(each @ v).max() > 0.0]
            if along:
                raise SettingsError(
                    f"the field has a component along the periodic cell vector {' and '.join(along)}: with "
                    f"charges={options.model} the potential -E.x of an atom would jump at the boundary; "
                    "choose charges=qeqr or qtpie, which use differences, or a direction that is open"
                )
        n = len(atoms)
        for atom, _ in options.reference_charges:
            if not (float(atom).is_integer() and 0 <= int(atom) < n):
                raise SettingsError(
                    f"reference_charges: atom {atom} of {n} atoms, expected a whole number from 0 to {n - 1}"
                )

    def stationary(self) -> "ReaxTerm":
        """With constants for which the energy is stationary in the charges, which are solved to 1e-12."""
        exact = replace(
            self.options, constants="consistent", charge_tolerance=1e-12, charges="converged",
            matrix_precision="float64",
        )  # fmt: skip
        return replace(self, options=exact)

    def parameters(self, species: Sequence[str]) -> Parameters:
        """Tables for these species.

        Raises:
            MissingParameterError, ParameterFileError: see `parameters.tables`.
        """
        assert self.ffield is not None
        return tables(self.ffield, species)

    def model(self, species: Sequence[str]) -> Model | None:
        """The charge model for these species; None for plain QEq without a field.

        Raises:
            MissingParameterError, ParameterFileError: see `models.model_of`.
        """
        assert self.ffield is not None
        return model_of(self.ffield, self.options, species)

    def bind(self, species: Sequence[str]) -> list[Bound]:
        """Near lists for bonds and hydrogen bonds, and for all pairs, with what evaluates them.

        Raises:
            MissingParameterError, ParameterFileError: see `parameters.tables`.
        """
        found, n = self.parameters(species), len(species)
        hb = found.atom[:, ATOM.index("hb")]
        accepts = (hb[:, None] == 1) & (hb[None, :] == 2)
        short = np.maximum(bond_reaches(found), np.where(accepts | accepts.T, REACH, 0.0))
        model = self.model(species)
        far = np.full((n, n), max(found.general["swb"], model.reach if model else 0.0))
        nothing, terms = np.zeros(1), Terms(None, None, None, n, queued=True)
        return [
            Bound(
                terms, nothing, nothing, short, short, short, f"{self.name} bonds", room=BondRoom,
                evaluator=partial(ReaxEvaluator, found, self.options, model=model), span=2,
            ),
            Bound(terms, nothing, nothing, far, far, far, f"{self.name} pairs"),
        ]  # fmt: skip

    @cached_property
    def code(self) -> Code:
        """What is computed with the parameters."""
        plain = self.options.model == "qeq" and not self.options.field
        return code_of(_Functions() if plain else _ModelFunctions())

    def describe(self, species: Sequence[str] | None = None) -> dict[str, Any]:
        """The record of this term: a JSON-able dictionary, with the bound tables as SHA-256."""
        record = super().describe(None)
        # The file has hundreds of numbers, and tables what is made of them.
        record["parameters"] = {}
        record["options"] = self.options.record()
        record["charge_norm"] = NORM
        if species is not None:
            record["tables_sha256"] = self._digests(species)
            record["code"] = dict(self.code.parts)
        return record

    def computed(self, species: Sequence[str]) -> dict[str, Any]:
        """What a fingerprint covers."""
        options = self.options.record()
        del options["max_iterations"]  # changes no result
        model = self.model(species)
        field = self.options.field if isinstance(self.options.field, FieldOfTime) else None
        return {
            "kind": self.kind,
            "options": options,
            "tables": self._digests(species),
            "code": self.code.digest,
            # Only where there is one: other terms keep their fingerprints.
            **({"model": model.numbers()} if model else {}),
            **({"field": code_of(field.function).digest} if field and field.function else {}),
        }

    def _digests(self, species: Sequence[str]) -> dict[str, str]:
        found = self.parameters(species)
        texts = {
            one.name: value.tobytes()
            if isinstance(value := getattr(found, one.name), np.ndarray)
            else repr(value).encode()
            for one in fields(found)
        }
        return {name: hashlib.sha256(data).hexdigest()[:16] for name, data in texts.items()}


def ReaxFF(  # noqa: N802
    file: str | PathLike[str],
    *,
    constants: str | None = None,
    charge_tolerance: float = 1e-6,
    net_charge: float = 0.0,
    lammps_forces: bool = False,
    tables: bool = True,
    charges: str = "converged",
    matrix_precision: str = "float64",
    max_iterations: int | None = None,
    **response: "Unpack[ResponseOptions]",
) -> ForceField:
    """ReaxFF, the reactive force field with bond orders and charge equilibration.

    Energies are in eV, although the file is in kcal/mol. Forces are the exact derivative of the energy at
    fixed charges.

        >>> from taichimd import ReaxFF
        >>> ReaxFF("H2O.ffield").cutoff
        10.0

    Args:
        file: a parameter file (ffield), or the name of a shipped one.
        constants: constants of the energy of the charges: "lammps", "puremd" or "consistent". With
            "consistent" the energy is stationary at the equilibrated charges, and forces are its gradient.
            None: "consistent" with the models qeqr and qtpie, else "lammps".
        charge_tolerance: largest preconditioned residual norm sqrt(r M^-1 r)/|b| of the two linear systems of
            the charge equilibration; M is the diagonal of the matrix.
        net_charge: sum of all charges, e; `charge` is the same.
        lammps_forces: whether to compute the forces of LAMMPS. These differ from the gradient of the energy
            if a light atom has a pi bond to a heavy atom.
        tables: whether the van der Waals term of pairs comes from look-up tables, whose errors are as small
            as round-off; False evaluates the formula.
        charges: the charge model, "qeq" (default), "qeqr", "qtpie" or "acks2"; or how a step solves it:
            "converged" (default): charges of each step are iterated to the tolerance; "extended-lagrangian":
            one iteration from auxiliary charges that are integrated with the atoms; or one of each with a "+"
            between, as in "qtpie+extended-lagrangian".
        matrix_precision: precision of the stored matrix of the equilibration: "float64" or "float32"; all
            vectors are float64.
        max_iterations: largest number of iterations of one equilibration; more raise a ChargeError. None:
            200, with acks2 1000.
        **response: of charge models and fields: `field`, `field_scale`, `charge`, `reference_charges`,
            `exponents` (`options.ResponseOptions`).

    Returns:
        The force field.

    Raises:
        ParameterFileError: the file does not exist or is malformed.
        SettingsError: an unknown word for constants, charges or precision, a tolerance out of range, or
            options that do not go together.
    """
    path = library.find(file)
    ffield = read_ffield(path)
    options = made(
        {
            "charge_tolerance": charge_tolerance, "lammps_forces": lammps_forces, "tables": tables,
            "charges": charges, "matrix_precision": matrix_precision,
        },
        constants, net_charge, max_iterations, **response,
    )  # fmt: skip
    cutoff = float(ffield.general["swb"])
    table = Table(1, ("cutoff",), {(name,): {"cutoff": cutoff} for name in ffield.names})
    citation = (
        "A. C. T. van Duin et al., J. Phys. Chem. A 105, 9396 (2001); K. Chenoweth, A. C. T. van Duin, "
        "W. A. Goddard, J. Phys. Chem. A 112, 1040 (2008), 10.1021/jp709896w"
    )
    term = ReaxTerm(
        QUEUED, _Functions(), table, f"ReaxFF {path.name}", citation=citation, source=source_of(path),
        units={"energy": "eV", "length": "angstrom", "charge": "e"}, ffield=ffield, options=options,
        valid_range=ffield.header.valid_range, cautions=(*ffield.header.warnings, *_remarks(options)),
    )  # fmt: skip
    return ForceField.of(term.name, term)


def _remarks(options: Options) -> tuple[str, ...]:
    """What a user should know of these options, for the log."""
    found = []
    if options.field:
        found.append(
            "the energy in the field counts positions that are not wrapped, from those of the structure file"
            if not (options.model in OVERLAPPING and options.consistent)
            else "the energy in the field is part of the polarisation energy"
        )
    if options.model == ACKS2 and options.net_charge != 0.0 and not options.reference_charges:
        found.append(
            f"the charge of {options.net_charge:g} e is divided equally among all atoms, as their reference "
            "charges: each molecule gets a share by its number of atoms; reference_charges say where it is"
        )
    return tuple(found)
