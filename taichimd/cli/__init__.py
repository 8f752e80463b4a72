"""The command line: a thin door. Each command reads its options, calls the package, prints.

Whatever is slow to import (Taichi, ASE's readers, matplotlib) is imported inside functions, so that
`taichimd --help` answers at once.
"""
