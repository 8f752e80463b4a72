"""Demonstration: lists of quadruplets under conditions on bond orders, and sums over them.

Algorithm 3 of P. E. Small et al., HPC Asia 2018, doi:10.1145/3149457.3149463. The package has its own terms
of four atoms in ReaxFF (`taichimd.forcefields.reaxff.torsions`); nothing of it uses this code.
"""
