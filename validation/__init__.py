"""Drivers that produce evidence: each prints a short table and writes JSON; see README.md in this folder."""
