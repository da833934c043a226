"""Without z3, proofs are refused in one line."""

from __future__ import annotations

import importlib.util

import pytest

from tzerlike.arith.harness import HARNESS
from tzerlike.core.errors import UserError


def test_proofs_take_a_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert HARNESS.prepare({"oracles": ["crash"]}) == (0, [])
    with pytest.raises(UserError) as refused:
        HARNESS.prepare({"oracles": ["proof"]})
    assert str(refused.value) == "--oracles: proof needs z3; install it with: pip install 'tzerlike[proof]'"
