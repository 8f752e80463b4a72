"""The steps of velocity Verlet on the device: kernels, and the loops that they are made of."""
