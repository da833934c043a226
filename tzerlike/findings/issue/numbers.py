"""Numbers in as many digits as a reader can compare."""

from __future__ import annotations

import re

_LONG_NUMBER = 10
_DIGITS = 6
_ALL_DIGITS = 17


def short_number(text: str, digits: int = _DIGITS) -> str:
    """A number in as many digits as a reader can compare; one of few digits, or whole, as it is."""
    if len(text) <= _LONG_NUMBER or not re.search(r"[.e]", text):
        return text
    try:
        return f"{float(text):.{digits}g}"
    except ValueError:
        return text


def short_numbers(got: str, expected: str) -> tuple[str, str]:
    """Two numbers that differ, in digits in which they still do."""
    for digits in range(_DIGITS, _ALL_DIGITS, 2):
        short = short_number(got, digits), short_number(expected, digits)
        if short[0] != short[1]:
            return short
    return got, expected


def bound(text: str) -> str:
    """How far off a result may be, in two digits."""
    try:
        return text if len(text) <= _DIGITS else f"{float(text):.2g}"
    except ValueError:
        return text
