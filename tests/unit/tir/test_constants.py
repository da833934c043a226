"""Constants of a user's file, which stand outside of its functions."""

from __future__ import annotations

import pytest

from tzerlike.tir.constants import definitions_with_constants

FILE = """\
N = 8
M = (N - 1) * 2
TYPE = "float32"
UNKNOWN = open("nowhere")


@decorated
def first(A: Buffer((N, M), TYPE)):
    é = N; A[N, UNKNOWN] = M


def second(N):
    return N + M


N = 9


def third():
    return N
"""


def test_constants_are_put_in_and_nothing_is_run() -> None:
    found = definitions_with_constants(FILE)
    assert found["first"].strip().splitlines() == [
        "@decorated",
        "def first(A: Buffer((8, 14), 'float32')):",
        "    é = 8; A[8, UNKNOWN] = 14",
    ]


def test_what_a_function_binds_itself_stays() -> None:
    assert "return N + 14" in definitions_with_constants(FILE)["second"]


def test_a_function_sees_what_stands_above_it() -> None:
    assert "return 9" in definitions_with_constants(FILE)["third"]


def test_lines_keep_their_numbers() -> None:
    lines = FILE.splitlines()
    for name, text in definitions_with_constants(FILE).items():
        number = next(index for index, line in enumerate(text.splitlines()) if line.startswith(f"def {name}"))
        assert lines[number].startswith(f"def {name}")


@pytest.mark.parametrize(
    "line",
    ["N = int(input())", "N *= 2", "N: int = 8", "N, M = 8, 8", "if M:\n    N = 8", "from x import N", "import y as N"],
)
def test_what_may_be_another_number_by_then_is_no_constant(line: str) -> None:
    found = definitions_with_constants(f"N = 16\nM = 2\n{line}\ndef f():\n    return N\n")
    assert found["f"].endswith("return N\n")
    assert "return N" in definitions_with_constants("N = 16\nfrom x import *\ndef f():\n    return N\n")["f"]
    assert "return 32" in definitions_with_constants("N = 16\nN = N * 2\ndef f():\n    return N\n")["f"]


def test_only_the_end_of_a_line_ends_one() -> None:
    found = definitions_with_constants('N = 4\nTEXT = "a\u2028b"\n\x0c\ndef f():\n    return N\n')
    assert found["f"].strip() == "def f():\n    return 4"


@pytest.mark.parametrize("value", ["10 ** 9", "1 // 0", "'a' * 10**9", "-'a'", "print(1)", "[1]"])
def test_what_is_no_constant_is_left_to_whoever_parses(value: str) -> None:
    assert definitions_with_constants(f"N = {value}\ndef f():\n    return N\n")["f"].endswith("return N\n")
