"""Faults of our own: what they came about on, kept so that they can be run again, and how many there are."""
