"""Metropolis Monte Carlo: moves, the chain, and the job of `taichimd mc`."""
