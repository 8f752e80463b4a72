"""taichimd under LAMMPS: agreement with one process, speed."""
