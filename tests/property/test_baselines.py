"""The generators of scripts/baselines make what they say."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from baselines.byte_mutation import MUTATIONS, Mutate, mutated
from baselines.tvmfuzz import DTYPES, Expressions, TvmFuzz

from tzerlike.systems import tvm_api
from tzerlike.tir.typecheck import TypeChecker


def test_expressions_have_the_type_that_is_wanted() -> None:
    for number in range(300):
        dtype = DTYPES[number % len(DTYPES)]
        value = Expressions(Random(number)).expression(dtype, 6)
        assert str(tvm_api.type_of(value).dtype) == dtype


def test_programs_are_well_formed_and_all_nodes_come() -> None:
    generator = TvmFuzz()
    texts = []
    for number in range(60):
        case = generator.propose(Random(number))
        module = tvm_api.load_ir(case.ir)
        assert tvm_api.well_formed(module)
        assert TypeChecker().check(tvm_api.entry_of(module)) is None
        texts.append(case.ir)
    nodes = ("Add", "FloorMod", "LT", "And", "Not", "Select", "Cast", "TensorLoad", "IntImm", "FloatImm", "Call")
    assert [node for node in nodes if not any(f'.{node}"' in text for text in texts)] == []
    assert generator.propose(Random(7)).id == generator.propose(Random(7)).id


@pytest.mark.parametrize("mutate", MUTATIONS)
@pytest.mark.parametrize("size", [1, 2, 7, 400])
def test_a_mutation_of_bytes_takes_any_input(mutate: Mutate, size: int) -> None:
    text = (b'{"a":12,"b":[3]}' * 30)[:size]
    changed = 0
    for number in range(60):
        data = bytearray(text)
        mutate(Random(number), data, b"other")
        changed += data != text
    assert changed or size < 7


def test_inputs_stay_bounded_and_are_never_empty() -> None:
    data = b"0"
    for number in range(200):
        data = mutated(Random(number), data, data)
        assert 0 < len(data) <= 1 << 20
    assert mutated(Random(3), b"abc", b"def") == mutated(Random(3), b"abc", b"def")
