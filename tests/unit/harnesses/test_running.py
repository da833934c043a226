"""How a script compares what a build computes with what is expected."""

from __future__ import annotations

import sys
from typing import Any

import numpy
import pytest

from tzerlike.harnesses.tir.running import differing_end


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32"])
@pytest.mark.parametrize(("got", "status"), [(1, 0), (0, 1)])
def test_a_wrong_element_is_found_whatever_its_dtype(
    capsys: pytest.CaptureFixture[str], dtype: str, got: int, status: int
) -> None:
    expected, bound = numpy.array([0, 1], dtype), numpy.zeros(2)
    found: dict[str, Any] = {"np": numpy, "sys": sys, "ARCHIVE": {"expected0": expected, "bound0": bound}}
    with pytest.raises(SystemExit) as left:
        exec(differing_end(f'wrong = differs(0, "B", np.array([0, {got}], {dtype!r}))\n'), found)
    assert left.value.code == status
    assert ("B[1] is" in capsys.readouterr().out) == bool(status)
