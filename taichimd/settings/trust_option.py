"""The option that lets a command run the code that a record names.

The help of the command line needs this module, so it imports no NumPy.
"""

OPTION = "--trust"
"""Option of commands that continue from a record."""
HELP = (
    "In a restart, run the Python code (file.py:name) that the checkpoint names, if its files are unchanged."
)
