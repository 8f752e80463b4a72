"""Axilrod-Teller over all triples: the experiments of Yaseen, Ji and Li (2015), bits, dynamics, LAMMPS."""
