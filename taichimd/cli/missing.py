"""An error of the command line for which neither NumPy nor ASE is loaded."""


class MissingFileError(Exception):
    """A file that is not there, seen before anything is loaded; a `TaichimdError` loads NumPy and ASE."""

    exit_code = 2
