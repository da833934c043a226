"""What a guarded mutator refuses, and what it lets through."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from tzerlike.core.bandit import shares
from tzerlike.mutators import Guarded, MutationEnv
from tzerlike.systems.tvm_api import tirx
from tzerlike.testing import sample_functions


@dataclass(frozen=True, slots=True)
class IllFitting:
    """Asks TVM for a node that there is none of."""

    name: str = "ill-fitting"

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any:
        return tirx.Add(tirx.IntImm("int32", 1), tirx.FloatImm("float32", 1.0))


@dataclass(frozen=True, slots=True)
class Mistaken:
    """Calls a function of ours with what it does not take, which raises the same type of exception."""

    name: str = "mistaken"

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any:
        return shares(3, {})  # type: ignore[arg-type]


def test_what_tvm_refuses_is_no_child() -> None:
    with pytest.raises((TypeError, ValueError)):
        IllFitting()(None, Random(0), MutationEnv())
    assert Guarded(IllFitting(), "ill-fitting")(sample_functions()[0], Random(0), MutationEnv()) is None


def test_a_fault_of_our_own_is_not_hidden() -> None:
    with pytest.raises(TypeError):
        Guarded(Mistaken(), "mistaken")(sample_functions()[0], Random(0), MutationEnv())
