"""Relaxation of structures: settings, the Python function, and the job behind `taichimd relax`."""
