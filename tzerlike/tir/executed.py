"""The functions of a user's file that has to be run: it imports them, or makes them with helpers.

It runs in a confined child, which may compute and read and nothing else.
"""

from __future__ import annotations

import importlib.util
import json
import re
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from tzerlike.core.errors import UserError
from tzerlike.processes.forked import in_child
from tzerlike.systems import tvm_api

_NAME = "tzerlike_user_file"
_PLACE = re.compile(r"^ *--> (.*):(\d+):\d+$", re.MULTILINE)
"""Where a diagnostic of TVM's says that it is."""


def executed_functions(path: Path) -> dict[str, Any]:
    """Return what a file defines or imports under its names: PrimFuncs, and modules of functions.

    UserError in a line, with that of the file where it is known, when it cannot be run.
    """
    answer, number = in_child(lambda: _run(path))
    if answer is None:
        what = "does what a program may not (writes, networks, other processes)" if number == signal.SIGSYS else ""
        why = what or ("takes too long" if number == signal.SIGPROF else f"dies of {signal.Signals(number).name}")
        raise UserError(f"{path}: {why} when it is run; with --text it is parsed only")
    told = json.loads(answer)
    if isinstance(told, str):
        raise UserError(told)
    return {name: tvm_api.load_ir(text) for name, text in told.items()}


def _run(path: Path) -> str:
    """In the child: the functions as IR by name, or a text of what went wrong, as JSON."""
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(_NAME, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:  # noqa: BLE001 - the user's own, SystemExit too
        return json.dumps(_said(path, error))
    kinds = (tvm_api.PrimFunc, tvm_api.IRModule)
    found = {name: value for name, value in vars(module).items() if isinstance(value, kinds)}
    return json.dumps({name: tvm_api.dump_ir(value) for name, value in found.items()})


def _said(path: Path, error: BaseException) -> str:
    """What went wrong, with the line of the file at which it did."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    if isinstance(error, SyntaxError) and error.filename == str(path):
        lines.append(error.lineno)
    text = str(error)
    if place := _PLACE.search(text):
        return f"{place[1]}:{place[2]}: not TVMScript that this TVM parses: {complaint(error)}"
    where = f"{path}:{lines[-1]}" if lines else f"{path}"
    return f"{where}: {type(error).__name__}: {complaint(error)}"


def complaint(error: BaseException) -> str:
    """The line of a diagnostic that says what is wrong: the one that starts with `error:`, or else the first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = (line.removeprefix("error:").strip() for line in lines if line.startswith("error:"))
    return next(said, lines[0] if lines else type(error).__name__)
