"""What a user can set: declarations, types, defaults, and where options and job files become settings."""
