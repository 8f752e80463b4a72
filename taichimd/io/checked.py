"""What the records that a run reads back must look like: checkpoints, run.json, batch.json, potentials.

Whoever sends a folder may have written anything into it. Each model names what is used, and refuses other
types, so that a damaged or an edited record ends in one line before anything is done with it.
"""

import json
import re
from typing import Annotated, Any, Literal

from ase.formula import Formula
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    ValidationError,
    field_validator,
)

_MAX_STEP = 10**17
"""Steps: a run has 1e15 at most, and a checkpoint may be of the last of many."""
_INT64 = 2**63
Step = Annotated[int, Field(ge=0, le=_MAX_STEP)]
Whole = Annotated[int, Field(ge=-_INT64, lt=_INT64)]


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", protected_namespaces=())


class Term(_Record):
    """One term of a potential's record, as far as it is compared and shown."""

    kind: str
    name: str
    truncation: str | None = None
    parameters: dict[str, dict[str, Any]] = {}
    options: dict[str, Any] = {}
    tables_sha256: dict[str, Any] = {}
    code: dict[str, Any] = {}


class Potential(_Record):
    """The record of a potential (`ForceField.describe`); empty in checkpoints of earlier versions."""

    name: str = ""
    terms: list[Term] = []
    python_files: dict[str, str] = {}


class Clock(_Record):
    """Origin of a run's time axis."""

    time_fs: FiniteFloat
    step: Step


class Moves(_Record):
    """Trial moves of one kind of a Markov chain."""

    size: Annotated[FiniteFloat, Field(ge=0)]
    tried: Annotated[int, Field(ge=0)] = 0
    accepted: Annotated[int, Field(ge=0)] = 0


class _OfGroup(_Record):
    """What acts on a group."""

    model_config = ConfigDict(extra="forbid")
    name: str
    kind: str
    settings: dict[str, Any]
    atoms: Annotated[list[tuple[Step, Step]], Field(min_length=1)]


class GroupBath(_OfGroup):
    """What a bath of a group is, and remembers."""

    bath: list[FiniteFloat] | None = None
    ledger: Whole | None = None


class GroupDrive(_OfGroup):
    """What a drive of a group is, and remembers."""

    own: dict[str, Any] | None = None
    partner: list[tuple[Step, Step]] | None = None
    state: dict[str, Any] | None = None


class Bath(_Record):
    """What a thermostat or a barostat remembers; or, of Monte Carlo, the chain."""

    model_config = ConfigDict(extra="forbid")
    ensemble: str | None = None
    identity: list[Any] | None = None
    ledger: Whole | None = None
    bath: list[FiniteFloat] | None = None
    cell: list[FiniteFloat] | None = None
    deformation: list[FiniteFloat] | None = None
    acting: list[GroupBath] | None = None
    drives: list[GroupDrive] | None = None
    kind: str | None = None
    energy: FiniteFloat | None = None
    homogeneous: FiniteFloat | None = None
    moves: Moves | None = None
    volume_moves: Moves | None = None
    exchanges: Moves | None = None


class Exchanges(_Record):
    """What one insertion or deletion has done."""

    molecules: Step
    energy: FiniteFloat
    momentum: Annotated[list[FiniteFloat], Field(min_length=3, max_length=3)]
    looks: Step
    seen: dict[str, Step]


class Exchanged(_Record):
    """The account of insertions and deletions."""

    received: FiniteFloat = 0.0
    items: dict[str, Exchanges] = {}


class Meta(_Record):
    """The text of a checkpoint."""

    model_config = ConfigDict(extra="forbid")
    step: Step
    settings: dict[str, Any]
    potential_hash: str
    clock: Clock
    last_step: Step
    first_total: FiniteFloat | None
    versions: dict[str, str]
    bath: Bath
    ramp: Annotated[list[Step], Field(min_length=2, max_length=2)] | None
    counted_from: Step
    potential: Potential = Potential()
    groups: dict[str, Annotated[list[tuple[Step, Step]], Field(min_length=1)]] = {}
    exchange: Exchanged = Exchanged()


def _formula(text: str) -> str:
    Formula(text)
    return text


class Shown(_Record):
    """Settings of a run.json that a later command shows or goes by."""

    ensemble: str = ""
    temperature: FiniteFloat | None = None
    final_temperature: FiniteFloat | None = None
    plot_format: Literal["png", "pdf", "svg"] = "png"


class Segment(_Record):
    """One run of a folder, as run.json lists it."""

    first_step: Step = 0
    last_step: Step = 0
    first_ps: FiniteFloat | None = None
    exit_reason: str = ""
    settings: Shown = Shown()


class Report(_Record):
    """run.json, as far as a later command uses it."""

    exit_reason: str = ""
    settings: Shown = Shown()
    n_atoms: Annotated[int, Field(gt=0)] = 1
    formula: Annotated[str, AfterValidator(_formula)] = ""
    potential: Potential = Potential()
    first_step: Step = 0
    last_step: Step = 0
    planned_last_step: Step = 0
    conserved_from_step: Step = 0
    simulated_ps: FiniteFloat | None = None
    segments: list[Segment] = []
    observed: dict[str, Any] = {}
    energy: dict[str, Any] | None = None


def _one_name(name: str) -> str:
    if name in ("", ".", "..") or not re.fullmatch(r"[\w.+ =-]+", name):
        raise ValueError("expected the name of one folder, without a path")
    return name


Name = Annotated[str, AfterValidator(_one_name)]
"""Name of a file or a folder directly in the folder of the record."""


class Member(_Record):
    """One run of batch.json."""

    model_config = ConfigDict(extra="forbid")
    name: Name
    flags: dict[str, Any]
    varied: dict[str, Any]
    python_files: dict[str, str | None] = {}

    @field_validator("flags")
    @classmethod
    def _own_folder(cls, flags: dict[str, Any]) -> dict[str, Any]:
        if elsewhere := {"output", "restart", "overwrite"} & flags.keys():
            raise ValueError(f"a record must not set {min(elsewhere)}")
        return flags


class Batch(_Record):
    """batch.json of several runs."""

    members: list[Member]

    @field_validator("members")
    @classmethod
    def _each_once(cls, members: list[Member]) -> list[Member]:
        if len({one.name for one in members}) < len(members):
            raise ValueError("a name occurs twice")
        return members


def fault_of(model: type[BaseModel], content: Any) -> str:
    """What is wrong with a record: place, value and what was expected; empty if nothing is."""
    try:
        # As JSON: there a strict model takes the lists and objects that it is made of.
        # Names of files may hold bytes that the locale could not read, as lone surrogates.
        model.model_validate_json(json.dumps(content, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        return "it is nested too deeply"
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "it"
        if first["type"] == "missing":
            return f"{where} is missing"
        return f"{where} = {repr(first['input'])[:60]}: {first['msg'][:1].lower()}{first['msg'][1:]}"
    return ""
