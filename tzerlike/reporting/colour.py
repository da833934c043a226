"""Syntax highlighting of TVMScript and Python: spans around tokens, without changing a character."""

from __future__ import annotations

import re
from html import escape

_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)
    |(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<number>\b\d(?:[\w.]|(?<=e)[+-])*)
    |(?P<decorator>@[A-Za-z_][\w.]*)
    |(?P<keyword>\b(?:def|class|for|in|if|elif|else|while|with|as|return|and|or|not|import|from|pass|None|True|False|lambda)\b)
    |(?P<api>\b[TRIXS]\.\w+(?:\.\w+)*)
    |(?P<plain>\w+|\s+|.)""",
    re.VERBOSE | re.DOTALL,
)


def coloured(program: str) -> str:
    """Return the HTML of a program."""
    parts = []
    for match in _TOKEN.finditer(program):
        text = escape(match[0])
        parts.append(text if match.lastgroup == "plain" else f'<span class="{match.lastgroup}">{text}</span>')
    return "".join(parts)
