"""Harnesses that span several rooms, a package each (tzerlike.core.harness has the table of all)."""
