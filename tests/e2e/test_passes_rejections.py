"""The table of rejections is what the installed TVM does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tzerlike.core.case import ContextConfig, parse_sequence
from tzerlike.passes.catalog import instantiate
from tzerlike.passes.facts import facts_of
from tzerlike.passes.pipeline import default_pipeline
from tzerlike.systems.tvm_api import dump_ir, module_of, parse_script
from tzerlike.systems.tvm_build import bind_target, build, target_of
from tzerlike.systems.tvm_passes import pass_context

TABLE: dict[str, Any] = json.loads((Path(__file__).parents[1] / "data" / "pass_labels.json").read_text())


def module(program: str) -> Any:
    return module_of(parse_script("\n".join(TABLE["programs"][program]["script"])))


def test_the_default_pipeline_of_the_table_is_tvms() -> None:
    assert parse_sequence(TABLE["default_pipeline"]) == default_pipeline().passes


@pytest.mark.parametrize("program", TABLE["programs"])
def test_the_facts_are_those_of_the_programs(program: str) -> None:
    assert sorted(facts_of(dump_ir(module(program)))) == TABLE["programs"][program]["facts"]


@pytest.mark.parametrize("row", TABLE["rejections"], ids=lambda row: f"{row['program']}-{row['failing'] or 'build'}")
def test_tvm_rejects_as_the_table_says(row: dict[str, str]) -> None:
    where, message = outcome(row)
    assert where == row["failing"]
    assert without_numbers(message) == without_numbers(row["message"])


def outcome(row: dict[str, str]) -> tuple[str, str]:
    config = ContextConfig(options=(("tirx.disable_assert", True),), pipeline=row["pipeline"])
    target = target_of("llvm")
    where = ""
    try:
        with target, pass_context(config):
            mod = bind_target(module(row["program"]), target)
            for spec in parse_sequence(row["passes"]):
                where = spec.name
                mod = instantiate(spec)(mod)
            where = ""
            build(mod, target, config.pipeline)
    except Exception as error:  # noqa: BLE001 - whatever TVM raises is the outcome
        text = f"{type(error).__name__}: {error}"
        return where, next(line for line in text.splitlines() if line.strip())[:200]
    return where, "accepted"


def without_numbers(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+|\d+", "N", text)
