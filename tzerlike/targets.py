"""Targets as text: what `--target` and `--arch` stand for, and what a case holds.

Imports no TVM: the command's own process and the loop read these too.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tzerlike.errors import UserError
from tzerlike.untrusted import Fields, one_line, parse_json

KINDS = ("llvm", "cuda")
"""The kinds of targets that a case may be for."""

DEFAULT_ARCH = "sm_90"
"""The GPU architecture that CUDA code is generated for where none is named; TVM would ask a device for it."""

ARCHITECTURE = re.compile(r"sm_[1-9][0-9]{1,2}[af]?")
"""What an architecture looks like."""


_CPU = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_CPU_FEATURE = re.compile(r"[+-][A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_OF_KIND = {
    "llvm": frozenset(("kind", "opt-level", "mcpu", "mattr", "num-cores", "vector-width")),
    "cuda": frozenset(("kind", "arch", "max_num_threads", "thread_warp_size", "host")),
}
"""The attributes that a target may have. The others name files, libraries, devices or options of LLVM."""


def checked_target(text: str) -> str:
    """Return `text` where it names a target that only says what code to generate; UserError otherwise."""
    try:
        description = parse_json(text.encode()) if text.lstrip().startswith("{") else {"kind": text}
    except (ValueError, RecursionError) as error:
        raise UserError(f"not JSON ({one_line(str(error), 80)})") from error
    _check(Fields.of(description, "target"), KINDS)
    return text


def _check(given: Fields, kinds: tuple[str, ...]) -> None:
    kind = given.choice("kind", kinds)
    for key in given.data:
        place = f"{given.where}.{one_line(key, 40)}"
        if key not in _OF_KIND[kind]:
            raise UserError(f"{place}: not an attribute that the target of a case may have")
        if key == "opt-level":
            given.whole(key, 0, 3)
        elif key == "host":
            _check(given.inner(key), ("llvm",))
        elif key in ("mcpu", "arch"):
            if (_CPU if key == "mcpu" else ARCHITECTURE).fullmatch(given.text(key)) is None:
                raise UserError(f"{place}: {one_line(given.text(key), 40)!r} is none")
        elif key == "mattr":
            if not all(_CPU_FEATURE.fullmatch(feature) for feature in given.texts(key)):
                raise UserError(f"{place}: expected features of a CPU like +avx2")
        elif key != "kind":
            given.whole(key, 1, 1 << 16)


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
