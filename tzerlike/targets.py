"""Targets as text: what `--target` and `--arch` stand for, and what a case holds.

Imports no TVM: the command's own process and the loop read these too.
"""

from __future__ import annotations

import json
import re

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


def kind_of_target(text: str) -> str:
    """Return the kind of a case's target: a bare kind, or the `kind` of a JSON object."""
    return str(json.loads(text)["kind"]) if text.lstrip().startswith("{") else text


def arch_of_target(text: str) -> str:
    """Return the architecture that a case's cuda target is compiled for."""
    return str(json.loads(text).get("arch", DEFAULT_ARCH)) if text.lstrip().startswith("{") else DEFAULT_ARCH
