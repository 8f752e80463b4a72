"""A run and what belongs to it: settings, driver, files written by observers, restarts, progress."""
