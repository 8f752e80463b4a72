"""Samplers on the device: what a run would have to write a huge trajectory for.

They take arrays as `taichimd.system.state.State` holds them, in any spatial order, and add up integers:
counts, or fixed-point numbers. Integer sums do not depend on the order of their terms, so results have the
same bits for any spatial sort, thread count and backend that computes the terms alike.
"""
