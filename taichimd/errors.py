"""What taichimd raises (`core.errors`)."""

from taichimd.core.errors import (
    AnalysisError,
    BackendError,
    BlowUpError,
    CapacityError,
    ChargeError,
    CheckpointError,
    EvaluationError,
    MissingParameterError,
    OutputError,
    ParameterFileError,
    PropertyError,
    RelaxationError,
    SettingsError,
    StructureError,
    TaichimdError,
    UnitsMismatchError,
)

__all__ = [
    "AnalysisError",
    "BackendError",
    "BlowUpError",
    "CapacityError",
    "ChargeError",
    "CheckpointError",
    "EvaluationError",
    "MissingParameterError",
    "OutputError",
    "ParameterFileError",
    "PropertyError",
    "RelaxationError",
    "SettingsError",
    "StructureError",
    "TaichimdError",
    "UnitsMismatchError",
]
