"""Barostats, one in each file: equation, parameters, layout of its state, device functions.

The table of all barostats is in `ensembles.registry`.

`base` has what all have, `layout` the array, `tensors` the sums, `moving_cell` an action, `deformation` what
it does to cell, atoms and lists. At the end of a step, with velocities and positions of the same time, the
sums K = sum_i m v (x) v and W = sum_i W_i give the pressure P = (K + W)/V. From it follow a matrix A for the
velocities, v <- v A, and a deformation for the drift of the next step, x <- x B + dt v C, h <- h B with the
cell vectors in the rows of h. Forces are always those of the present positions. In the equations p is the
wanted pressure, r = beta/(3 tau), s the thermostat's factor, R symmetric noise of unit variance on the
diagonal and half of it beside.

What may change is a projection of these tensors: their mean over the controlled axes, their diagonal, or all
of them. Cells do not rotate, because all of them are symmetric. Fixed atoms have v = 0 and follow x <- x B:
they keep their places in the cell (fractional coordinates), so W is that of all atoms, and K that of the free
ones.
"""
