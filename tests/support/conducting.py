"""A small crystal of argon, and settings of a conductivity that is found in a moment."""

from ase.build import bulk

SHORT = {"temperature": 60.0, "equilibrate": 20.0, "time": 100.0, "every": 5, "backend": "cpu"}
ARGON = bulk("Ar", a=5.3, cubic=True) * (2, 1, 1)
LINE = "kappa s.extxyz --potential Ar.lj --temperature 60 --equilibrate 20fs --backend cpu --every 5 "
