"""Relaxation of structures: settings, the Python function, and the job of `taichimd relax`."""
