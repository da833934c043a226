"""Where something failed, from the frames of a backtrace: the compiler's own code at fault.

A function stands for all of its overloads. Visitors, which every pass goes through, do not tell. Nor does the function
that makes a constant, where that does not fit its type: which bound it exceeds, and which type has it, is the
program's. Who asked for it is at fault, and where that is a simplifier, or the visit of an arithmetic node, it is the
simplification that all passes share. So it is where the folding of casts asked on their behalf, or on the analyzer's;
but for the analysis of sets, where it is the bound of an interval that does not fit, and no constant of the program.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from tzerlike.core.frames import function_name
from tzerlike.core.observation import Frame
from tzerlike.systems import under_test

SIMPLIFICATION = "simplification"

_MAKES_NO_NAME = re.compile(r"[^(]*?([\w:~]+::operator)\W")
"""A function whose name is an operator's has no other: `const T& tvm::Seq::operator[](int) const`."""


def telling(frames: Sequence[Frame]) -> list[str]:
    """Return the names of the functions that are no visitors, the deepest first, each once."""
    names = dict.fromkeys(_named(frame.function) for frame in frames)
    return [name for name in names if not name.startswith(under_test().code.visitors)]


def raised_in(frames: Sequence[Frame]) -> tuple[str, ...]:
    """The deepest telling function; a node's constructor together with the shared function that it was called from."""
    names = telling(frames)
    many = 2 if names[1:] and _is_constructor(names[0]) and is_shared(names[1]) else 1
    return tuple(names[:many])


def refused_constant(frames: Sequence[Frame]) -> tuple[str, bool]:
    """Return who asked for the constant that could not be made, or "" where something else failed; and whether that was
    to simplify an expression, which all passes share, and not for a pass of its own accord."""
    code = under_test().code
    names = list(dict.fromkeys(_named(frame.function) for frame in frames))
    makers = next((n for n, name in enumerate(names) if not re.match(code.constants, name)), len(names))
    if not makers:
        return "", False
    place, asked = next(
        ((n, name) for n, name in enumerate(names) if n >= makers and not name.startswith(code.visitors)), (0, "")
    )
    if re.fullmatch(code.simplifiers, asked) or _simplifies(names[makers : makers + 1]):
        return SIMPLIFICATION, True
    caller = next((name for name in names[place + 1 :] if not is_shared(name) or _analyses(name)), "")
    if not (is_shared(asked) and (_simplifies([caller]) or _analyses(caller))):
        return asked, False
    return f"{asked} for {caller}" if re.match(under_test().code.intervals, caller) else asked, True


def _simplifies(caller: Sequence[str]) -> bool:
    code = under_test().code
    return any(re.search(code.arithmetic, name) or re.fullmatch(code.simplifiers, name) for name in caller)


def _analyses(name: str) -> bool:
    return re.match(under_test().code.analysis, name) is not None


def made_in(site: Sequence[str]) -> str:
    """The kind of node whose constructor failed, `Bind` of `tvm::tirx::Bind::Bind`; "" where it was no constructor."""
    return site[0].rpartition("::")[2] if site and _is_constructor(site[0]) else ""


def is_shared(function: str) -> bool:
    """Whether all passes use a function, and not to make a node of theirs."""
    return re.match(under_test().code.shared, function) is not None and not _is_constructor(function)


def recursion(frames: Sequence[Frame]) -> tuple[str, ...]:
    """Return the classes that a recursion goes through, in an order of their own.

    Which function was on top when the stack ended is chance, and which overloads it goes through is the program's. A
    function without a name is one overload of a class that is not known: it counts where nothing has a name.
    """
    code = under_test().code
    own = [frame.function for frame in frames if code.owns(frame)]
    repeated = {name for name, count in Counter(own).items() if count > 1 and not name.startswith(code.visitors)}
    named = {name for name in repeated if not name.startswith(code.libraries)}
    return tuple(sorted({_owner(name) for name in named or repeated}))


def _named(function: str) -> str:
    operator = _MAKES_NO_NAME.match(function)
    return operator[1] if operator else function_name(function)


def _is_constructor(name: str) -> bool:
    owner, _, own = name.rpartition("::")
    return owner.rpartition("::")[2] == own


def _is_method(name: str) -> bool:
    """Whether a qualified name is that of a class's function: neither free nor a constructor."""
    owner = name.rpartition("::")[0].rpartition("::")[2]
    return owner[:1].isupper() and not _is_constructor(name) and re.fullmatch(r"[\w:~]+", name) is not None


def _owner(function: str) -> str:
    """The class of a method: a recursion goes through its overloads as the program has it."""
    name = function_name(function)
    return name.rpartition("::")[0] if _is_method(name) else name
