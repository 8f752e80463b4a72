"""The command line. Each command reads its options, calls the package, and prints.

Whatever is slow to import (Taichi, ASE's readers, matplotlib) is imported inside functions, so that
`taichimd --help` answers at once.
"""
