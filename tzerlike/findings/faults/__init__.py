"""Faults of tzerlike itself: kept with their cases so that they can be run again, and counted."""
