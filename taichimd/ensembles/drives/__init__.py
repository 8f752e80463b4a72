"""Drives: forces, springs, walls, indenters, drag and moved groups, which act on atoms besides the potential.

A file each has what a user gives: `force`, `spring`, `wall`, `indenter`, `motion`. `given` names the atoms of
each, `layout` says
what stands where in the arrays, `functions` has the device functions, `kernels` the kernels outside of steps,
and `host` the
host's side. A drive is a row, and an atom has a bit for each row that acts on it.
"""
