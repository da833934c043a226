"""How reports say things briefly: titles, numbers, programs that can be pasted, inputs that fit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy
from numpy.typing import NDArray

_TITLE = 80
"""Characters of an issue's title, with what all have in front."""

_LONG_WORD = 12
_LONG_NUMBER = 10
_DIGITS = 6
_INPUT_LINES = 20
_WIDTH = 120
_ADDRESS = re.compile(r"\(0x[0-9a-f]{6,}\)")
_IMPORT = re.compile(r"^# (from \S+ import (?:\w+ as )?(\w+))$", re.MULTILINE)
_PARAMETER = re.compile(r"(\w+): (?:T\.|\w+\.)")


def title(label: str, text: str) -> str:
    """The title of an issue: cut at a word where it is too long."""
    whole = f"[Bug][{label}] {_ADDRESS.sub('', ' '.join(text.split())).rstrip(':')}"
    if len(whole) <= _TITLE:
        return whole
    cut = whole[: _TITLE - 3]
    at_word = cut.rpartition(" ")[0]
    return (at_word if len(cut) - len(at_word) < _LONG_WORD else cut).rstrip(" ,;:(") + "..."


def reason(message: str) -> str:
    """What an error of TVM's says, without its class, and of a check its words, or where it has none its condition."""
    text = re.sub(r"^\w+Error: ", "", message)
    check = re.fullmatch(r"Check failed: (?:\((.*)\) is false:?|(.* \(.* vs\. .*\)) :) *(\S.*)?", text)
    return text if check is None else check[3] or f"check {check[1] or check[2]}"


def brief(baseline: str) -> str:
    """What a baseline build is, with the number of the passes that it leaves out in place of their names."""
    names = re.search(r"without (\w+(?:, \w+){3,})", baseline)
    return baseline if names is None else baseline.replace(names[1], f"{names[1].count(',') + 1} optional passes")


def short_number(text: str) -> str:
    """A number in as many digits as a reader can compare; one of few digits, or whole, as it is."""
    if len(text) <= _LONG_NUMBER or not re.search(r"[.e]", text):
        return text
    try:
        return f"{float(text):.{_DIGITS}g}"
    except ValueError:
        return text


def short_numbers(got: str, expected: str) -> tuple[str, str]:
    """Two numbers that differ, in digits in which they still do."""
    short = short_number(got), short_number(expected)
    return short if short[0] != short[1] else (got, expected)


def bound(text: str) -> str:
    """How far off a result may be, in two digits."""
    try:
        return text if len(text) <= _DIGITS else f"{float(text):.2g}"
    except ValueError:
        return text


def pasted(script: str) -> str:
    """A program with the imports that it needs, as code: TVM prints them as a comment, needed or not."""

    def imported(match: re.Match[str]) -> str:
        used = re.search(rf"\b{match[2]}\b", script[script.rfind("# from ") :].partition("\n")[2])
        return match[1] if used else ""

    text = _IMPORT.sub(imported, script)
    return re.sub(r"\A((?:from .*\n|\n)+)", lambda head: re.sub(r"\n+", "\n", head[0]).lstrip("\n") + "\n", text)


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
            lines.append(_assigned(f"{name} afterwards, as the program says", after))
    text = "\n".join(lines)
    return text if len(text.splitlines()) <= _INPUT_LINES else ""


def _assigned(name: str, array: NDArray[Any]) -> str:
    start = f"{name} = "
    return start + numpy.array2string(
        array, separator=", ", threshold=1 << 30, max_line_width=_WIDTH, precision=6, prefix=start
    )
