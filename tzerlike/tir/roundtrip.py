"""Whether a program survives its own text: printed as TVMScript, parsed, and compared with the original.

The text is what a bug report shows, so a program that does not survive it cannot be reported as text alone. Where it
does not, the fault is TVM's: it is named here by its cause, so that equal faults of several programs are reported once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tzerlike.core.observation import message_template
from tzerlike.systems import tvm_api
from tzerlike.systems.tvm_api import array_items, tvm_ffi, type_of
from tzerlike.tir.node import accessed_by
from tzerlike.tir.scope import constant_int
from tzerlike.tir.tree import Tree

PRINTER, PARSER, UNEQUAL = "the printer raises", "the parser raises", "another program comes back"


@dataclass(frozen=True, slots=True)
class TextFault:
    """What goes wrong (`stage`), the part of it that does not depend on the program (`cause`), and all of it."""

    stage: str
    cause: str
    detail: str


def round_trip(module: Any) -> TextFault | None:
    """Print an IRModule and parse the text; return what is wrong with the outcome, or None."""
    script = _asked(PRINTER, lambda: tvm_api.script_of(module))
    if isinstance(script, TextFault):
        return script
    again = _asked(PARSER, lambda: tvm_api.parse_script(script))
    if isinstance(again, TextFault):
        return again
    mismatch = tvm_ffi.get_first_structural_mismatch(module, again)
    if mismatch is None:
        return None
    ours, theirs = mismatch
    if _is_simplified(*(_extent_at(root, path.to_steps()) for root, path in ((module, ours), (again, theirs)))):
        return None
    had, got = resolved(module, ours.to_steps()), resolved(again, theirs.to_steps())
    places = f"{path_text(ours)}: {str(had)[:500]}\n{path_text(theirs)}: {str(got)[:500]}"
    return TextFault(UNEQUAL, _change(_fields(ours), had, got), places)


def views_lie_with_memory(module: Any) -> bool:
    """Whether all views are in the scope of their memory, which is what text says of them: Schedule.set_scope leaves
    them in the scope that their memory had."""
    functions = [func for func in module.functions.values() if isinstance(func, tvm_api.PrimFunc)]
    nodes = [site.node for func in functions for site in Tree(func).sites]
    views = [(view.buffer, view.data) for view in nodes if type(view) is tvm_api.tirx.DeclBuffer]
    return all(_scope_of(buffer) == _scope_of(data) for buffer, data in views)


def constant_indices_fit(module: Any) -> bool:
    """Whether no constant index is outside of its buffer: nobody has to keep in text what is undefined."""
    functions = [func for func in module.functions.values() if isinstance(func, tvm_api.PrimFunc)]
    nodes = [site.node for func in functions for site in Tree(func).sites]
    accesses = [(access.indices, buffer) for access in nodes if (buffer := accessed_by(access)) is not None]
    return all(
        index is None or extent is None or 0 <= index < extent
        for indices, buffer in accesses
        for index, extent in zip(
            map(constant_int, array_items(indices)), map(constant_int, array_items(type_of(buffer).shape)), strict=False
        )
    )


def _scope_of(memory: Any) -> str:
    return str(tvm_api.type_of(memory).storage_scope) or "global"


def path_text(path: Any) -> str:
    """An access path as `<root>.body.seq[2]`, which tvm-ffi before 0.1.12 does not print like that."""
    said = str(path)
    if said.startswith(_ROOT):
        return said
    return _ROOT + "".join(f".{at.key}" if at.kind == _ATTRIBUTE else f"[{at.key}]" for at in path.to_steps())


def resolved(root: Any, steps: Iterable[Any]) -> Any:
    """Return what stands where the steps of an access path lead, or the nearest thing above it that exists."""
    found = root
    for step in steps:
        try:
            found = getattr(found, str(step.key)) if step.kind == _ATTRIBUTE else found[step.key]
        except (AttributeError, IndexError, KeyError, TypeError):
            return found
    return found


def _extent_at(root: Any, steps: Sequence[Any]) -> Any:
    """The extent of a loop that an access path leads to or into, None where it leads elsewhere."""
    end = next((end for end, step in enumerate(steps, 1) if str(step.key) == "extent"), 0)
    return resolved(root, steps[:end]) if end else None


def _is_simplified(had: Any, got: Any) -> bool:
    """Whether an extent came back simplified: the builder of TVMScript does that to those of all loops."""
    if not all(isinstance(extent, tvm_api.tvm.ir.Expr) for extent in (had, got)):
        return False
    simple = _asked(PARSER, lambda: tvm_api.part("sym").Analyzer().simplify(had))
    return not isinstance(simple, TextFault) and bool(tvm_ffi.structural_equal(simple, got, map_free_vars=True))


def _asked(stage: str, step: Callable[[], Any]) -> Any:
    """Return what TVM makes of `step`, a TextFault where it raises."""
    try:
        return step()
    except Exception as error:
        if not tvm_api.raised_by_tvm(error):
            raise
        text = f"{type(error).__name__}: {error}"
        # A diagnostic shows the source first and says what is wrong in the line that starts with "error:".
        telling = re.search(r"^error: .*", str(error), re.MULTILINE)
        return TextFault(stage, message_template(telling[0] if telling else text), text)


_ROOT = "<root>"
_ATTRIBUTE = tvm_ffi.access_path.AccessKind.ATTR


def _fields(path: Any) -> list[str]:
    return [str(step.key) for step in path.to_steps() if step.kind == _ATTRIBUTE]


def _change(fields: list[str], had: Any, got: Any) -> str:
    """Say what became of what, without what depends on the program.

    Expressions that come back as others are all one cause for each type: TVMScript's operators simplify what they
    are given, wherever it stands.
    """
    if isinstance(had, tvm_api.tvm.ir.Expr) and type(had) is not type(got):
        return f"{type(had).__name__} is rewritten"
    place = fields[-1] if fields else "the module"
    if isinstance(had, tvm_ffi.Object | list | dict) or isinstance(got, tvm_ffi.Object | list | dict):
        return f"{place}: {type(had).__name__} becomes {type(got).__name__}"
    return message_template(f"{place}: {had} becomes {got}")
