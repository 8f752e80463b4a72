"""Other programs on the same card at the same time."""
