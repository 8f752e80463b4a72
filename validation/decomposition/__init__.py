"""The experiments of P. E. Small et al., HPC Asia 2018, doi:10.1145/3149457.3149463, on our hardware.

Silica by Vashishta's potential of 1990, beta-cristobalite of 24-atom cells: a thread for each atom ("PD",
particle decomposition) or for each tuple of a list ("TD"). `python -m validation.decomposition --help`.
"""
