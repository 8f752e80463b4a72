"""taichimd under LAMMPS: agreement with one process, speed, a model of how it scales."""
