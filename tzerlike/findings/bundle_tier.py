"""The tier of the finding of a bundle, from its files."""

from __future__ import annotations

from tzerlike.findings.bundles.bundle import Record


def tier_of(*records: Record) -> int:
    """Return the tier of a finding by the records of its bundle and of the reduced one in it, where there is one: users
    may meet the reduced case where they do not meet the whole. 0 where nobody asked."""
    return min((record.tier for record in records if record.tier), default=0)
