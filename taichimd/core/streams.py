"""Streams of random numbers: every use in the program has one of its own, so that no two draw the same.

A stream is the upper half of a counter word (`core.philox`). Numbers are never reused or renumbered: a
checkpoint of an older version must continue with the same noise.
"""

LANGEVIN = 1
"""Kicks of the Langevin thermostat: three normals for each atom and step."""
VELOCITY_RESCALING = 2
"""Noise of the whole system in one step: block 0 holds the normal R_1, the others the gamma variate."""
CELL = 3
"""Noise of a barostat in one step: six normals in three blocks."""
MC_MOVE = 4
"""Numbers of a trial move of an atom in one sweep: three displacements, and one for the decision."""
MC_SWEEP = 5
"""Numbers of the trial moves of a whole system in one sweep."""
MC_EXCHANGE = 6
"""Numbers of chains that exchange configurations in one sweep: one number for each pair."""
