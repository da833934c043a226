"""The frame of every page: one file without network access, one style, and the one script that its policy allows."""

from __future__ import annotations

import base64
import hashlib
from html import escape

from tzerlike.reporting.behaviour import BEHAVIOUR
from tzerlike.reporting.style import STYLE


def document(title: str, header: str, main: str, footer: str = "") -> str:
    """Return a page's HTML; `header`, `main` and `footer` are HTML already.

    What comes from a campaign is text and escaped. Should that fail, the policy in the head still forbids requests,
    and every script but ours, by its hash.
    """
    digest = base64.b64encode(hashlib.sha256(BEHAVIOUR.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n"
        f'<body><a class="skip" href="#main">To the content</a><header>{header}</header>\n'
        f'<main id="main" tabindex="-1">{main}</main>\n<footer>{footer}</footer><script>{BEHAVIOUR}</script>'
        "</body></html>\n"
    )


def text_block(title: str, content: str, level: str = "h5") -> str:
    """A heading and text that scrolls, also by keyboard; `content` is escaped already."""
    name = escape(title)
    return f'<{level}>{name}</{level}><pre tabindex="0" role="group" aria-label="{name}">{content}</pre>'
