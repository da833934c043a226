"""The tier of the finding of a bundle, from its files."""

from __future__ import annotations

from pathlib import Path

from tzerlike.findings.bundles.bundle import Record, read_record
from tzerlike.findings.reduction.place import reduced_in


def tier_of(*records: Record) -> int:
    """Return the tier of a finding by the records of its bundle and of the reduced one in it, where there is one: users
    may meet the reduced case where they do not meet the whole. 0 where nobody asked."""
    return min((record.tier for record in records if record.tier), default=0)


def tier_with_reduced(path: Path, record: Record) -> int:
    """Return the tier of the finding of a bundle, which has this record, with the reduced one in it as far as there is
    one. UserError where that is damaged."""
    reduced = reduced_in(path)
    return tier_of(record) if reduced is None else tier_of(record, read_record(reduced))
