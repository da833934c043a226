"""A function of a user's TVMScript file: parsed, or, if that is not enough, taken from the file as it runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tzerlike.core.errors import UserError
from tzerlike.systems import tvm_api
from tzerlike.tir.constants import definitions_with_constants
from tzerlike.tir.executed import complaint, executed_functions
from tzerlike.tir.seeds.lowered import legalised

_LINE = re.compile(r"^ *--> <str>:(\d+):\d+$", re.MULTILINE)
"""Where a diagnostic of TVM's says that it is."""


def module_in(path: Path, wanted: str | None, *, text_only: bool = False) -> Any:
    """Return the module of the function `wanted` in a TVMScript file, or of `main`, or of the only one.

    A file whose functions parse by themselves, with its constants put in, is not run; another one is, in a confined
    child, unless `text_only`. Of Relax functions, what TVM legalises them to. UserError in one line, with that of the
    file, when it does not hold one.
    """
    definitions = _definitions(path)
    try:
        functions = _primitive({name: tvm_api.parse_script(source) for name, source in definitions.items()})
    except Exception as error:
        if text_only:
            where = f"{path}:{line[1]}" if (line := _LINE.search(str(error))) else f"{path}"
            raise UserError(f"{where}: not TVMScript that this TVM parses: {complaint(error)}") from error
        functions = _primitive(executed_functions(path))
    if not functions:
        raise UserError(f"{path}: no @T.prim_func and no @I.ir_module in it")
    if wanted is None:
        wanted = next(iter(functions)) if len(functions) == 1 else tvm_api.ENTRY
    if wanted not in functions:
        raise UserError(f"{path}: name the function to run with --function; there are: {', '.join(sorted(functions))}")
    return tvm_api.module_of(functions[wanted])


def _definitions(path: Path) -> dict[str, str]:
    try:
        return definitions_with_constants(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    except SyntaxError as error:
        raise UserError(f"{path}:{error.lineno}: not Python: {error.msg}") from error
    except ValueError as error:
        raise UserError(f"{path}: not a text in UTF-8: {error}") from error


def _primitive(found: dict[str, Any]) -> dict[str, Any]:
    """The PrimFuncs among these, those of modules by their names there."""
    functions: dict[str, Any] = {}
    for name, one in found.items():
        named = {name: one}
        if isinstance(one, tvm_api.IRModule):
            named = {variable.name_hint: func for variable, func in legalised(one).functions.items()}
        functions |= {name: func for name, func in named.items() if isinstance(func, tvm_api.PrimFunc)}
    return functions
