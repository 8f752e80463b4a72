"""Many systems in one launch."""
