"""Minimisation on the device: FIRE, and the cell as further degrees of freedom."""
