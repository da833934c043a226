"""Targets as text: the meaning of `--target` and `--arch`, and the target of a case.

Imports no TVM: the command's own process and the loop read these too.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tzerlike.core.errors import UserError
from tzerlike.core.schema import converted
from tzerlike.core.untrusted import one_line, parse_json

KINDS = ("llvm", "cuda")
"""The kinds of targets that a case may be for."""

DEFAULT_ARCH = "sm_90"
"""The GPU architecture that CUDA code is generated for where none is named; TVM would ask a device for it."""

ARCHITECTURE = re.compile(r"sm_[1-9][0-9]{1,2}[af]?")
"""What an architecture looks like."""


_Name = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9_.-]{0,39}\Z")]
_Feature = Annotated[str, Meta(pattern=r"\A[+-][A-Za-z0-9][A-Za-z0-9_.-]{0,39}\Z")]
_Size = Annotated[int, Meta(ge=1, le=1 << 16)]


class _Llvm(msgspec.Struct, tag_field="kind", tag="llvm", forbid_unknown_fields=True):
    """The attributes that the target of a case may have.

    The others name files, libraries, devices or options of LLVM.
    """

    opt_level: Annotated[int, Meta(ge=0, le=3)] = msgspec.field(default=0, name="opt-level")
    mcpu: _Name = "generic"
    mattr: list[_Feature] = []
    num_cores: _Size = msgspec.field(default=1, name="num-cores")
    vector_width: _Size = msgspec.field(default=1, name="vector-width")


class _Cuda(msgspec.Struct, tag_field="kind", tag="cuda", forbid_unknown_fields=True):
    """The same for CUDA."""

    arch: Annotated[str, Meta(pattern=rf"\A{ARCHITECTURE.pattern}\Z")] = DEFAULT_ARCH
    max_num_threads: _Size = 1
    thread_warp_size: _Size = 1
    host: _Llvm = msgspec.field(default_factory=_Llvm)


def checked_target(text: str) -> str:
    """Return `text` where it names a target that only says what code to generate; UserError otherwise."""
    try:
        description = parse_json(text.encode()) if text.lstrip().startswith("{") else {"kind": text}
    except (ValueError, RecursionError) as error:
        raise UserError(f"not JSON ({one_line(str(error), 80)})") from error
    converted(description, _Llvm | _Cuda, "target")
    return text


def checked_arch(text: str) -> str:
    """Return `text` where it names an architecture; UserError otherwise."""
    if ARCHITECTURE.fullmatch(text) is None:
        raise UserError(f"--arch: {text!r} is not an architecture like {DEFAULT_ARCH}")
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
