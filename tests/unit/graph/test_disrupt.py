"""A disrupted call breaks its row in one place."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from random import Random

import msgspec
import pytest

from tzerlike.core.case import Case, PassSpec
from tzerlike.core.errors import UserError
from tzerlike.graph.dice import Dice
from tzerlike.graph.disrupt import disrupted, wrong_disruption
from tzerlike.graph.evolve import MODEL_LIMITS, MODEL_MUTATORS, Surroundings, mutated
from tzerlike.graph.generate import random_model
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Model, Origin, TensorType, Vertex, model_text
from tzerlike.graph.place import SizeLimits, Wanted
from tzerlike.graph.solve import draw_call, recognise
from tzerlike.graph.sound import unsound
from tzerlike.graph.spec import ROWS
from tzerlike.graph.stored import require_model


def test_one_thing_is_changed_and_no_form_allows_it() -> None:
    rng = Random(4)
    forms = defaultdict(list)
    for row in ROWS.values():
        forms[row.operator].append(row)
    kinds = set()
    for row in ROWS.values():
        for _ in range(5):
            drawn = draw_call(row, Dice(rng), SizeLimits())
            types = tuple(one.type for one in drawn.inputs if isinstance(one, Wanted))
            broken = disrupted(rng, row, forms[row.operator], types, drawn.attributes)
            if broken is None:
                continue
            changed = sum(one != other for one, other in zip(types, broken.types, strict=True))
            changed += sum(value != broken.attributes[name] for name, value in drawn.attributes.items())
            assert changed == 1, broken
            assert all(recognise(form, broken.types, broken.attributes) is None for form in forms[row.operator])
            kinds.add(broken.what.split(": ")[-1].split()[0])
    assert kinds == {"extent", "rank", "dtype", "attribute"}


def test_a_disrupted_model_is_one_call_that_no_row_allows() -> None:
    menu, made = Menu(list(ROWS.values())), 0
    for seed in range(60):
        model = random_model(Random(seed), 4, menu, MODEL_LIMITS)
        found = mutated("disrupt", model, Surroundings(ROWS, menu, Random(seed), lambda model=model: model))  # type: ignore[misc]
        if found is None:
            continue
        made += 1
        case = Case(model_text(found), harness="graph")
        assert found.disrupted and unsound(found, ROWS)
        require_model(case)
        with pytest.raises(UserError):
            require_model(replace(case, passes=(PassSpec("relax.FoldConstant"),)))
        whole = msgspec.structs.replace(found.vertices[0], broken="")
        with pytest.raises(UserError):
            require_model(replace(case, ir=model_text(msgspec.structs.replace(found, vertices=(whole,)))))
    assert made > 40


def test_a_call_that_breaks_nothing_is_not_to_be_refused() -> None:
    kind = TensorType((2, 3), "float32")
    right = Model((Origin(kind),), (Vertex("exp", (0,), {}, (kind,), broken="input 0: dtype"),), (1,))
    assert "breaks no row" in wrong_disruption(right, ROWS)


def test_a_call_has_no_attributes_but_those_of_its_row() -> None:
    kind = TensorType((2, 3), "int32")
    wrong = Model((Origin(kind),), (Vertex("exp", (0,), {"a=1)); print(": 1}, (kind,), broken="input 0: dtype"),), (1,))
    assert "has not got" in wrong_disruption(wrong, ROWS)


def test_others_make_whole_models_of_disrupted_ones() -> None:
    menu = Menu(list(ROWS.values()))
    kind = TensorType((2, 3), "int32")
    wrong = Model((Origin(kind),), (Vertex("exp", (0,), {}, (kind,), broken="input 0: dtype"),), (1,))
    for name in MODEL_MUTATORS:
        found = mutated(name, wrong, Surroundings(ROWS, menu, Random(1), lambda: wrong))
        assert found is None or (not found.disrupted and unsound(found, ROWS) == "")
