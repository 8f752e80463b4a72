"""Errors that a user can cause or must know of: one class per cause, one line per message.

Every message says what was wrong and where (file and line, or atom), what was expected, and what to do.
The command line prints the message and exits with `exit_code`.
"""

from ase.calculators.calculator import (
    CalculationFailed,
    CalculatorSetupError,
    InputError,
    PropertyNotImplementedError,
    SCFError,
)

from taichimd.core.printable import printable


class TaichimdError(Exception):
    """Base of all errors that taichimd raises on purpose.

    As text its message is printable: names and values come from files. Control characters are escaped.
    """

    exit_code = 2

    def __str__(self) -> str:
        return printable(super().__str__())


class TaichimdWarning(UserWarning):
    """A warning about an input or about the process; nothing has failed."""


class StructureError(TaichimdError, InputError):
    """A structure file or an Atoms object that cannot be simulated."""


class ParameterFileError(TaichimdError, CalculatorSetupError):
    """A parameter file that cannot be read; the message carries file, line and field."""


class UnitsMismatchError(ParameterFileError):
    """A parameter file whose UNITS tag is not the expected one."""


class MissingParameterError(TaichimdError, InputError):
    """An element, pair or triple of the structure that the potential does not define."""


class SequenceError(TaichimdError, InputError):
    """A file or a chain of residues that cannot be counted or scored."""


class SettingsError(TaichimdError, InputError):
    """An unknown option or an invalid value."""


class BackendError(TaichimdError, CalculatorSetupError):
    """The requested backend cannot be started."""


class PropertyError(TaichimdError, PropertyNotImplementedError):
    """A property that this structure does not have, such as the stress of a molecule without a cell."""


class EvaluationError(TaichimdError, CalculationFailed):
    """An energy or a force that is not a finite number, or that an external potential does not give.

    Attributes:
        system: number of the system of a batch, if that is known.
    """

    system: int | None = None


class ChargeError(TaichimdError, SCFError):
    """A charge equilibration that does not converge.

    Attributes:
        system: number of the system of a batch, if that is known.
    """

    system: int | None = None


class CapacityError(TaichimdError, CalculationFailed):
    """A list that does not fit the memory of the device, or sums that exceed the range of their numbers.

    Attributes:
        part: the fraction of the request that would fit; None if it is not known.
    """

    part: float | None = None


class AnalysisError(TaichimdError, InputError):
    """A time series or trajectory that is too short for what is asked, or lacks what it needs."""


class OutputError(TaichimdError):
    """Output that cannot be written: no permission, disk full, or an earlier run's files in the way."""


class CheckpointError(TaichimdError):
    """A checkpoint that is truncated, of another system, or of another format."""


class RelaxationError(TaichimdError, CalculationFailed):
    """A relaxation that diverged: a cell that collapsed or exploded, atoms on top of each other."""


class BlowUpError(TaichimdError, CalculationFailed):
    """A trajectory that diverged: a coordinate that is not finite or an atom that jumped.

    Attributes:
        step: the step at which it was noticed.
        atom: the user's number of the first such atom.
    """

    def __init__(self, message: str, step: int, atom: int) -> None:
        super().__init__(message)
        self.step = step
        self.atom = atom
