"""Entry point: runs a command and turns every error into one line and an exit code."""

import sys
import warnings
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from taichimd.cli.commands import program
from taichimd.cli.missing import MissingFileError
from taichimd.core.printable import one_line
from taichimd.core.signals import end_of, interrupted
from taichimd.forcefields.pasted import of_arguments


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ends in `SystemExit`, with 2 for a mistake of the user and no traceback.

    Args:
        arguments: without the program's name; None takes those of the process.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # an Å must not end a run on a terminal that lacks it
    sys.exit(_code_of(sys.argv[1:] if arguments is None else arguments))


def _code_of(arguments: Sequence[str]) -> int:
    for word in arguments:
        if any("\ud800" <= one <= "\udfff" for one in word):
            return _fail(
                f"{word}: these bytes are no text in the encoding of the locale, "
                f"{sys.getfilesystemencoding()}; set PYTHONUTF8=1 if they are UTF-8, or rename the file",
                2,
            )
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn  # type: ignore[assignment]
            parser = program(arguments)
            code = parser(args=arguments or ["--help"], prog_name="taichimd", standalone_mode=False)
    except KeyboardInterrupt:
        return _stopped()
    except Exception as error:
        return _code_of_error(error, arguments)
    if interrupted():
        # The option parser has made a bare exit code of it, or nobody has looked.
        return _stopped()
    return code if isinstance(code, int) else 0


def _code_of_error(error: Exception, arguments: Sequence[str]) -> int:
    """Say what was wrong; an error of the program itself is raised again."""
    if interrupted() or type(error).__name__ == "Abort":
        return _stopped()
    if isinstance(error, MissingFileError):
        return _fail(str(error), error.exit_code)
    # Usage errors of the option parser; by their method, because its module has moved between versions.
    if hasattr(error, "format_message"):
        return _fail(of_arguments(arguments) or _of_job_file(arguments) or _usage(error), 2)
    from taichimd.core.errors import TaichimdError

    if isinstance(error, TaichimdError):
        _tidy()
        return _fail(_of_job_file(arguments) or str(error), error.exit_code)
    if isinstance(error, UnicodeEncodeError):
        _tidy()
        return _fail(
            f"{ascii(error.object)[1:-1]}: the encoding of the locale, {sys.getfilesystemencoding()}, "
            "cannot write this name; set PYTHONUTF8=1, or rename the file",
            2,
        )
    raise error


def _of_job_file(arguments: Sequence[str]) -> str | None:
    """What is wrong with a job file of a command that takes none, or in a format that is none; or None."""
    command, file = [*arguments, "", ""][:2]
    if not Path(file).is_file():
        return None
    if command in ("energy", "kappa", "mc", "relax") and file.endswith(".toml"):
        return (
            f"{file}: expected a structure file; {command} has its settings as options, and only "
            "`taichimd run`, `taichimd sweep` and `taichimd groups` take a job file"
        )
    has_potential = any(word.partition("=")[0] == "--potential" for word in arguments)
    if command == "run" and file.endswith((".yaml", ".yml", ".json")) and not has_potential:
        return (
            f"{file}: expected a job file in TOML, whose name ends in .toml, or a structure and --potential"
        )
    return None


def _usage(error: Any) -> str:
    """What the option parser says; of an argument or option that is missing, what to give as well."""
    message, kind = str(error.format_message()), type(error).__name__
    wanted = getattr(getattr(error, "param", None), "help", None)
    if kind == "MissingParameter" and wanted:
        first = wanted[:2].lower() if wanted[1].islower() else wanted[:2]
        return f"{message.rstrip('.')}: expected {first}{wanted[2:].rstrip('.')}"
    if kind == "UsageError":
        return f"{message.rstrip('.')}; add --help to the command for its arguments and options"
    return message


def _stopped() -> int:
    """Exit code of a command that a signal has stopped while it started."""
    _tidy()
    return _fail(*end_of(interrupted()))


def _tidy() -> None:
    """Remove folders that are empty, if there was time to make any."""
    if files := sys.modules.get("taichimd.io.files"):
        files.remove_empty_folders()


def _warn(message: Warning | str, category: type[Warning] = UserWarning, *_: Any, **__: Any) -> None:
    # What the package itself says is a note, as where a command prints it.
    kind = "note" if category.__name__ == "TaichimdWarning" else "warning"
    print(f"{kind}: {one_line(message)}", file=sys.stderr)


def _fail(message: str, code: int) -> int:
    line = one_line(message)
    if line:
        print(f"error: {line}", file=sys.stderr)
    return code
