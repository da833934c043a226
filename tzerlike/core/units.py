"""Numbers in readable units."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """`3 725 s` as `1:02:05`, less than an hour as `2:05`."""
    whole = int(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, secs = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{secs:02}" if hours else f"{minutes}:{secs:02}"
