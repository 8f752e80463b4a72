"""The checks that a force field passes on this machine, and the certificate that says so."""
