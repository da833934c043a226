"""Programs that can be pasted, and the inputs that they run on where these are short."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy
from numpy.typing import NDArray

PARSED_ONLY = "from __future__ import annotations"
"""Python would evaluate annotations, which TVM only parses."""

_INPUT_LINES = 20
_WIDTH = 120
_IMPORT = re.compile(r"^# (from \S+ import (?:\w+ as )?(\w+))$", re.MULTILINE)
_PARAMETER = re.compile(r"(\w+): (?:T\.|\w+\.)")
_SCRIPTS = {"I": "ir as I", "R": "relax as R", "T": "tirx as T"}
"""What a module that TVM prints without its imports takes from tvm.script."""


def pasted(script: str) -> str:
    """A program with the imports that it needs, as code: TVM prints them as a comment, needed or not, or not at all.

    Comments above it are left out: they are about the program in another notation.
    """
    if "from tvm.script import" not in script:
        if re.search(r"^from tvm import ", script, re.MULTILINE):
            return script[script.index("from tvm import ") :]
        body = re.sub(r"\A(?:#.*\n|\n)+", "", script)
        needed = [f"from tvm.script import {what}\n" for name, what in _SCRIPTS.items() if f"{name}." in body]
        named = [f"{PARSED_ONLY}\n\n", "from typing import TypeVar\n"] * ("TypeVar(" in body)
        body = re.sub(
            r"^(\w+ = TypeVar\(.*\)\n)(?=[@a-z])(?!\w+ = TypeVar)", r"\1\n\n", body, count=0, flags=re.MULTILINE
        )
        return "".join([*named, *needed, "\n" * bool(needed), body])

    def imported(match: re.Match[str]) -> str:
        used = re.search(rf"\b{match[2]}\b", script[script.rfind("# from ") :].partition("\n")[2])
        return match[1] if used else ""

    text = re.sub(r"^(\w+ = TypeVar\(.*\)\n)(?=@)", r"\1\n\n", _IMPORT.sub(imported, script), flags=re.MULTILINE)
    text = re.sub(r"\A((?:from .*\n|\n)+)", lambda head: re.sub(r"\n+", "\n", head[0]).lstrip("\n") + "\n", text)
    return f"{PARSED_ONLY}\n\n" * ("TypeVar(" in text) + text


def inputs_text(arrays: Mapping[str, NDArray[Any]], script: str) -> str:
    """What a program runs on and what it computes, a line or more for each array; "" where that takes many lines."""
    # A number takes three characters at least; to print many takes long.
    if any(3 * array.size > _WIDTH * _INPUT_LINES for array in arrays.values()):
        return ""
    head = script.partition("def main(")[2].partition("):\n")[0]
    names = _PARAMETER.findall(head)
    lines = []
    for index in range(len(arrays)):
        before, after = arrays.get(f"argument{index}"), arrays.get(f"expected{index}")
        if before is None:
            break
        name = names[index] if index < len(names) else f"argument {index}"
        lines.append(_assigned(name, before))
        if after is not None and not numpy.array_equal(before, after, equal_nan=before.dtype.kind == "f"):
            lines.append(_assigned(f"{name} (expected)", after))
    text = "\n".join(lines)
    return text if len(text.splitlines()) <= _INPUT_LINES else ""


def _assigned(name: str, array: NDArray[Any]) -> str:
    start = f"{name} = "
    return start + numpy.array2string(
        array, separator=", ", threshold=1 << 30, max_line_width=_WIDTH, precision=6, prefix=start
    )
