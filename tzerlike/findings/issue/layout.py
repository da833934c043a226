"""The pieces that reports are laid out with: fences that hold whatever is put into them, and cuts that say so."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from tzerlike.core.frames import place_in
from tzerlike.core.observation import Frame
from tzerlike.systems import under_test

_FRAMES = 12
_WIDTH = 140
_NOT_TVM = ("core.cpython", "libpython", "python")
_PYTHON = ("_Py", "Py", "TVMFFIPy")
_TEMPLATE = re.compile(r"<[^<>]*>")
_UNNAMED = re.compile(r"(?P<library>\S+)\+0x[0-9a-f]+|unmapped")


def triage(labels: Sequence[str] = ()) -> list[str]:
    """Return the last section of TVM's form, with the `labels` of components."""
    return ["### Triage", "", "* needs-triage", *(f"* {label}" for label in labels)]


def fenced(text: str, language: str = "") -> list[str]:
    """Return the lines of a code block; the fence is longer than any run of backticks in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *text.rstrip().splitlines(), fence]


def fold(name: str, text: str) -> list[str]:
    """Return the lines of a file of Python that a reader unfolds."""
    return [f"<details><summary>{name}</summary>", "", *fenced(text, "python"), "", "</details>"]


def code(text: str) -> str:
    """Return a text as inline code."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def cut(text: str, lines: int, width: int = 500) -> str:
    """Return the first lines of a text, each cut to `width`, with a last line that counts what is missing."""
    all_lines = text.strip("\n").splitlines()
    kept = [line if len(line) <= width else f"{line[:width]} ..." for line in all_lines[:lines]]
    if len(all_lines) > lines:
        kept.append(f"... ({len(all_lines) - lines} more line{'s' * (len(all_lines) - lines > 1)})")
    return "\n".join(kept)


def trace(frames: Sequence[Frame]) -> list[str]:
    """Return the lines of a backtrace that tell something: from the innermost frame out to where Python called TVM.

    Dots stand for frames without a symbol and visitors that every pass goes through; a recursion is shown once. Where
    nothing else is left, the first few frames stand for themselves.
    """
    return [f"{line} ({place})" if place else line for line, place in _told(frames)]


def telling_names(frames: Sequence[Frame]) -> list[str]:
    """The lines of a backtrace without the places in source files."""
    return [line for line, _ in _told(frames)]


def _told(frames: Sequence[Frame]) -> list[tuple[str, str]]:
    """The lines of a backtrace, each with its place in a source file, "" where that is not known."""
    own = _own(frames)
    lines: list[tuple[str, str]] = []
    shown: set[str] = set()
    skipped = False
    for frame in own:
        name = _plain_name(frame.function)
        if _UNNAMED.fullmatch(frame.function) or name.startswith(under_test().code.visitors) or name in shown:
            skipped = True
            continue
        if len(shown) == _FRAMES:
            break
        if skipped:
            lines.append(("...", ""))
        skipped = False
        shown.add(name)
        lines.append((name, place_in(frame.function)))
    return lines if shown else [(_plain_name(frame.function), "") for frame in own[:4] if frame.function != "unmapped"]


def _own(frames: Sequence[Frame]) -> list[Frame]:
    """The frames of TVM, and of what it called, up to the Python that called it."""
    own = list(takewhile(_below_python, frames))
    start = next((i for i, frame in enumerate(own) if under_test().code.owns(frame) or "::" in frame.function), 0)
    return own[start:]


def _below_python(frame: Frame) -> bool:
    return not (frame.library.startswith(_NOT_TVM) or frame.function.startswith(_PYTHON))


def _plain_name(signature: str) -> str:
    """The name of a C++ function without its types: what all instances of a template share."""
    while (shorter := _TEMPLATE.sub("", signature)) != signature:
        signature = shorter
    head, _, _ = signature.replace("operator()", "operator ").partition("(")
    name = head.replace("operator ", "operator()").strip().rpartition(" ")[2] or signature
    return name if len(name) <= _WIDTH else f"{name[:_WIDTH]} ..."


def environment_lines(environment: Mapping[str, Any], target: str = "") -> list[str]:
    """Return one line of versions, as far as a bundle's environment names them, and of the `target` of its case."""
    names = (
        ("TVM", "tvm"),
        ("tvm-ffi", "tvm_ffi"),
        ("LLVM", "llvm"),
        ("Python", "python"),
        ("NumPy", "numpy"),
        ("Linux", "kernel"),
        ("CPU", "cpu"),
    )
    known = [f"{label} {environment[key]}" for label, key in names if environment.get(key)]
    if target:
        known.append(f"target {target}")
    return [", ".join(known)] if known else []


def found_by(environment: Mapping[str, Any], signature: str, runs: int, same: int, takes: str = "") -> str:
    """Return the line that says where a report comes from, how often it was seen, and what it `takes` to show it."""
    version = environment.get("tzerlike", "")
    again = f"Reproduced in {same} of {runs} run{'s' * (runs > 1)}."
    return f"Found by the fuzzer tzerlike {version}".rstrip() + f" ({signature}). {again} {takes}".rstrip()
