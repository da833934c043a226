"""Faults of our own: what they occurred on, kept so that they can be run again, and how many there are."""
