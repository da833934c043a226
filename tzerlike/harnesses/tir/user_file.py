"""A case from a user's own TVMScript."""

from __future__ import annotations

from pathlib import Path

from tzerlike.core.case import Case, ContextConfig, parse_sequence
from tzerlike.passes.catalog import instantiate
from tzerlike.systems import tvm_api
from tzerlike.tir.script import module_in


def case_of_script(
    path: Path, function: str | None, passes: str, target: str, input_seed: int, *, text_only: bool = False
) -> Case:
    """Return the case of a function in a TVMScript file; UserError where there is none, or no such pass.

    With `text_only` the file is parsed and never run.
    """
    ir = tvm_api.dump_ir(module_in(path, function, text_only=text_only))
    case = Case(ir, parse_sequence(passes), ContextConfig(), target, input_seed)
    for spec in case.passes:
        instantiate(spec)
    return case
