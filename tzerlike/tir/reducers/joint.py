"""Changes of a program together with what it is compiled for or run on, where neither alone will do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from tzerlike.core.case import Case
from tzerlike.core.shrink import Attempt, Reducer
from tzerlike.systems.tvm_api import params_of
from tzerlike.tir.order import DEFAULT_TARGET
from tzerlike.tir.reducers.program import Make, program_of, with_program, without
from tzerlike.tir.reducers.statements import all_plain
from tzerlike.tir.tree import Tree

_INPUTS = 4
"""Input seeds to try: a parameter that goes gives those behind it other values."""


def on_the_host(case: Case) -> Iterator[Attempt[Case]]:
    """Serial loops and the default target: threads need a GPU, and a GPU needs threads."""
    if case.target != DEFAULT_TARGET:
        yield partial(_on_the_host, case)


def _on_the_host(case: Case) -> Case | None:
    return with_program(replace(case, target=DEFAULT_TARGET), partial(all_plain, Tree(program_of(case.ir))))


def fewer_parameters(case: Case) -> Iterator[Attempt[Case]]:
    """The program without one of its parameters, on several inputs."""
    tree = Tree(program_of(case.ir))
    for param in params_of(tree.func):
        make: Make = partial(without, tree, (), (param,))
        for seed in range(_INPUTS):
            yield partial(with_program, replace(case, input_seed=seed), make)


JOINT: Mapping[str, Reducer[Case]] = {"on-the-host": on_the_host, "fewer-parameters": fewer_parameters}
"""The reducers of this module by name."""
