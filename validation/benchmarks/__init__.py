"""Timings of taichimd, and of LAMMPS on the same structures in the same run."""
