"""Readers of parameter files: text in, checked numbers out; no physics and no Taichi here."""
