"""Targets as text: what `--target` and `--arch` stand for, and what a case holds.

Imports no TVM: the command's own process and the loop read these too.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tzerlike.errors import UserError

DEFAULT_ARCH = "sm_90"
"""The GPU architecture that CUDA code is generated for where none is named; TVM would ask a device for it."""

ARCHITECTURE = re.compile(r"sm_[1-9][0-9]{1,2}[af]?")
"""What an architecture looks like."""


def checked_arch(text: str) -> str:
    """Return `text` where it names an architecture; UserError otherwise."""
    if ARCHITECTURE.fullmatch(text) is None:
        raise UserError(f"--arch: {text!r} is no architecture like {DEFAULT_ARCH}")
    return text


def target_text(kind: str, arch: str = DEFAULT_ARCH) -> str:
    """Return the target of a case for `--target kind --arch arch`; only cuda has an architecture."""
    return json.dumps({"kind": kind, "arch": arch}) if kind == "cuda" else kind


def target_options(text: str) -> dict[str, Any]:
    """Return what a case's target says, a bare kind or a JSON object, with its `kind` among the options."""
    options: dict[str, Any] = json.loads(text) if text.lstrip().startswith("{") else {"kind": text}
    return options


def kind_of_target(text: str) -> str:
    """Return the kind of a case's target."""
    return str(target_options(text)["kind"])


def arch_of_target(text: str) -> str:
    """Return the architecture that a case's cuda target is compiled for."""
    return str(target_options(text).get("arch", DEFAULT_ARCH))
