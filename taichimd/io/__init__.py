"""Files: structures in; trajectory, thermo table, checkpoint, plot and report out.

Units are converted here and at the command line, nowhere further in.
"""
