"""A repro.py builds as a user would, wherever that is the same."""

from __future__ import annotations

from tzerlike.core.case import ContextConfig
from tzerlike.harnesses.tir.parts import context_arguments


def test_what_is_tvms_default_is_not_said() -> None:
    assert context_arguments(ContextConfig()) == []
    assert context_arguments(ContextConfig(opt_level=4)) == context_arguments(ContextConfig(opt_level=2)) == []
    assert context_arguments(ContextConfig(opt_level=0)) == ["opt_level=0"]
    assert context_arguments(ContextConfig(disabled_passes=("a.B",))) == ['disabled_pass=["a.B"]']
