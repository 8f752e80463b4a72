"""From force fields and enumerations to what kernels are compiled for and the lists that they read."""
