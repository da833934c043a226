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


@pytest.mark.parametrize("value", ["10 ** 9", "1 // 0", "'a' * 10**9", "-'a'", "print(1)", "[1]"])
def test_what_is_no_constant_is_left_to_whoever_parses(value: str) -> None:
    assert definitions_with_constants(f"N = {value}\ndef f():\n    return N\n")["f"].endswith("return N\n")
