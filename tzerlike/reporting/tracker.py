"""Where a reader sees whether a finding is known: a search of the tracker of the compiler under test."""

from __future__ import annotations

import re
from urllib.parse import urlencode

_MOST = 2
"""Words that a search has: a tracker finds what has all of them."""

_NAMED = re.compile(
    r"`([^`]+)`|\(([a-z][\w.]+)\)|\b([A-Za-z][\w.:]*(?:[a-z\d][A-Z]|_|\.|::)\w+)|\b(Gradient)\b"
    r"|\bon ([a-z]\w+)(?=:(?!:)| and |$)|^([a-z]\w+)(?= does )"
)
"""What stands in backticks or parentheses, has a capital inside, or parts; and what something fails on, or does it."""


def search_of(tracker: str, title: str) -> str:
    """Return the address of a search in a tracker, such as https://github.com/apache/tvm/issues, for what the title of
    a report names: a pass, an operator; "" where there is no tracker, or nothing to look for."""
    words = searched_words(title)
    return f"{tracker}?{urlencode({'q': ' '.join(words)})}" if tracker and words else ""


def searched_words(title: str) -> list[str]:
    """The first names in a title, each without what it is a part of."""
    named = ("".join(one.groups("")) for one in _NAMED.finditer(title))
    return list(dict.fromkeys(re.split(r"\.|::", name)[-1] for name in named))[:_MOST]
