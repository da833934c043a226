"""A function of a user's TVMScript file, which is parsed and never run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tzerlike.core.errors import UserError
from tzerlike.systems import tvm_api
from tzerlike.tir.constants import definitions_with_constants
from tzerlike.tir.seeds.lowered import legalised

_LINE = re.compile(r"^ *--> <str>:(\d+):\d+$", re.MULTILINE)
"""Where a diagnostic of TVM's says that it is."""


def module_in(path: Path, wanted: str | None) -> Any:
    """Return the module of the function `wanted` in a TVMScript file, or of `main`, or of the only one.

    Of Relax functions, what TVM legalises them to. UserError in one line, with that of the file, when it does not hold
    one.
    """
    functions: dict[str, Any] = {}
    try:
        for name, source in definitions_with_constants(path.read_text(encoding="utf-8")).items():
            parsed = tvm_api.parse_script(source)
            named = {name: parsed}
            if isinstance(parsed, tvm_api.IRModule):
                parsed = legalised(parsed)
                named = {variable.name_hint: func for variable, func in parsed.functions.items()}
            functions |= {name: func for name, func in named.items() if isinstance(func, tvm_api.PrimFunc)}
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    except SyntaxError as error:
        raise UserError(f"{path}:{error.lineno}: not Python: {error.msg}") from error
    except Exception as error:
        where = f"{path}:{line[1]}" if (line := _LINE.search(str(error))) else f"{path}"
        raise UserError(f"{where}: not TVMScript that this TVM parses: {_complaint(error)}") from error
    if not functions:
        raise UserError(f"{path}: no @T.prim_func and no @I.ir_module in it")
    if wanted is None:
        wanted = next(iter(functions)) if len(functions) == 1 else tvm_api.ENTRY
    if wanted not in functions:
        raise UserError(f"{path}: name the function to run with --function; there are: {', '.join(sorted(functions))}")
    return tvm_api.module_of(functions[wanted])


def _complaint(error: Exception) -> str:
    """The line of a diagnostic that says what is wrong: the one that starts with `error:`, or else the first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = (line.removeprefix("error:").strip() for line in lines if line.startswith("error:"))
    return next(said, lines[0] if lines else type(error).__name__)
