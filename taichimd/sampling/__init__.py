"""Metropolis Monte Carlo: moves, the chain, and the job behind `taichimd mc`."""
