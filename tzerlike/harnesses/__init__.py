"""Harnesses that are made of several rooms, a package each (tzerlike.core.harness has the table of all)."""
