"""What a program has that few have, from its TVMScript: titles say it where nothing else tells what fails."""

from __future__ import annotations

import re
from collections import Counter

from tzerlike.graph.model import PLAINEST

_FEW_NAMES = 2
_SEVERAL = 4
_USUAL = frozenset(
    name
    for line in (
        "Add And Buffer Cast Div FloorDiv FloorMod GT GE LT LE EQ NE Max Min Mod Mul Not Or Select Sub Ramp Broadcast",
        "max min if_then_else prim_func func_attr bool float16 float32 float64 int8 int16 int32 int64 uint8 uint16",
        "uint32 uint64 handle let sblock sblock_attr sblock_alloc_buffer alloc_buffer axis reads writes where init",
        "grid serial unroll evaluate thread_binding vectorized parallel",
    )
    for name in line.split()
)
"""What half of all programs have."""

_NARROW = r"bfloat16|float[468]_\w+|[a-z]+\d+x\d+"
"""Types that TVM computes in another one, and vectors."""

_NESTED = re.compile(r'^( *)with T\.sblock\("(?!root").*\n(?:\1 .*\n)*?\1 +with T\.sblock\(', re.MULTILINE)
"""A block inside of another one."""

_EXTENTS = r"\(([^()]*(?:\([^()]*\)[^()]*)*)\)"
_SHAPED = re.compile(rf"T\.Buffer\({_EXTENTS},")
_STRIDED = re.compile(rf"{_SHAPED.pattern}[^\n]*?strides={_EXTENTS}")
_OPERATOR = re.compile(r"\b(?:relax\.op|R)\.((?:nn|image|vision|grad)\.\w+|[a-z]\w*)\(")
_ONNX_OPERATOR = re.compile(r'\bhelper\.make_node\("(\w+)"')
_TORCH_OPERATOR = re.compile(r"^ +(?:x\d+, )*x\d+ = (?:torch\.(?:nn\.functional\.)?|x\d+\.)(\w+)\(", re.MULTILINE)
_NO_OPERATORS = frozenset(
    ("function", "dataflow", "output", "shape", "prim_value", "dtype", "str", "Neg", "Not", "Add", "Identity", "neg")
)
"""What TVMScript calls that computes nothing, and what ONNX and PyTorch call those that reductions put in the place of
any."""

_USUAL_DTYPES = frozenset(("float32", "int32", "int64", "bool"))


def bare_buffer(piece: str, script: str) -> str:
    """The parameter of one element that a piece of TVMScript has without its index, as TVM prints it, or ""."""
    names = re.findall(r"(\w+): T\.Buffer\(\(1,\)", script)
    return next((name for name in names if re.search(rf"(?<![\w.]){name}(?![\w\[:(.])", piece)), "")


def allocated_inside(message: str, script: str) -> str:
    """The buffer of which TVM says that it is not in its block's signature, where that block allocates it, or ""."""
    found = re.search(r'buffer "(\w+)" is \w+ in the block but is not in the block\'s signature', message)
    return found[1] if found and re.search(rf"^ *{found[1]} = T\.sblock_alloc_buffer\(", script, re.MULTILINE) else ""


def rare_names(script: str) -> list[str]:
    """The one or two names of TVMScript, and types, in a program that hardly any other has; none where it has more."""
    body = script[script.find("def main") :]
    called = [name for name in re.findall(r"\bT\.(\w+)", body) if name not in _USUAL]
    names = [name if re.fullmatch(_NARROW, name) else f"T.{name}" for name in called]
    checks = re.findall(r"^ +(assert) ", body, re.MULTILINE)
    found = dict.fromkeys([*names, *re.findall(rf'"({_NARROW})"', body), *checks])
    return list(found) if len(found) <= _FEW_NAMES else []


def most_called(script: str) -> str:
    """The operation that a program of TVMScript has most of, with its number, if it has several."""
    called = Counter(re.findall(r"\bT\.((?!Buffer)[A-Z]\w+|min|max|if_then_else)\(", script))
    (name, count), *_ = [*called.most_common(1), ("", 0)]
    return f"{count} T.{name}" if count >= _SEVERAL else ""


def huge_extent(script: str) -> str:
    """The largest extent of a loop of TVMScript, where it has seven digits or more, else ""."""
    loops = re.findall(r"\b(?:range|T\.(?:grid|serial|unroll|parallel|vectorized))\(([^\n]*)\):", script)
    return str(max((int(number) for loop in loops for number in re.findall(r"\b\d{7,}\b", loop)), default=""))


def symbolic_thread(script: str) -> str:
    """The virtual thread of a program of TVMScript whose extent is a name, which hardly any program has, or ""."""
    found = re.search(r'T\.thread_binding\(([A-Za-z_]\w*), thread="(vthread[.\w]*)"', script)
    return f" on {found[2]} of symbolic extent" if found else ""


def unusual_block(script: str) -> str:
    """What is unusual about the one block of a program of TVMScript, or about the two that it has, or ""."""
    blocks = re.findall(r'^( *)with T\.sblock\("(?!root")', script, re.MULTILINE)
    if len(blocks) == 2 and _NESTED.search(script):
        inside = re.search(r"with T\.init\(\):\s+with T\.sblock", script)
        return " on a block in T.init()" if inside else " on a nested block"
    if len(blocks) == 2 and re.search(r"^( *)for .*\n\1    with .*\n(?:\1     .*\n)+\1    with ", script, re.MULTILINE):
        return " on a loop over two blocks"
    if len(blocks) == 1 and "T.match_buffer(" in script:
        return " on a block with a match_buffer"
    under_loop = re.search(r"^ *for ", script, re.MULTILINE)
    return "" if len(blocks) != 1 or under_loop else " on a block under no loop"


def mixed_strides(script: str) -> str:
    """Of which dtypes the shape and the strides of a buffer are, where these differ."""
    for parts in _STRIDED.findall(script):
        shape, strides = ({"int64" if "int64" in one else "int32" for one in part.split(", ")} for part in parts)
        if len(shape) == len(strides) == 1 and shape != strides:
            return f" on {shape.pop()} shape and {strides.pop()} strides"
    return ""


def has_mixed_shape(script: str) -> bool:
    """Whether some extents of a buffer are of int64 and others are not."""
    return any(len({"int64" in one for one in shape.split(", ") if one}) > 1 for shape in _SHAPED.findall(script))


def makes_closures(script: str) -> bool:
    """Whether a model in TVMScript has a function inside of a function."""
    depths = {len(indent) for indent in re.findall(r"^( *)@R\.function", script, re.MULTILINE)}
    return len(depths) > 1


def called_operators(script: str, *, reduced: bool = True) -> list[str]:
    """The operators that a model calls, where it calls one or two; else those with a namespace, where there are few and
    the model is reduced: of others nobody knows yet which one matters.

    Those that reductions put in the place of any do not count.
    """
    nothing = _NO_OPERATORS.union(PLAINEST)
    named = _ONNX_OPERATOR.findall(script) or (_TORCH_OPERATOR if "torch.nn.Module" in script else _OPERATOR).findall(
        script
    )
    found = list(dict.fromkeys(name for name in named if name not in nothing))
    if reduced and len(found) > _FEW_NAMES:
        found = [name for name in found if "." in name]
    return found if len(found) <= _FEW_NAMES else []


def unusual_dtype(script: str) -> str:
    """The dtype of tensors in a model that few models have, where there is one such; "" where not."""
    dtypes = set(re.findall(r'R\.Tensor\(.*?dtype="(\w+)"', script))
    # Most conditions are of bool: alone it is another thing.
    found = dtypes if dtypes == {"bool"} else dtypes - _USUAL_DTYPES
    return found.pop() if len(found) == 1 else ""


def telling_argument(script: str, operator: str) -> str:
    """The one argument by name of a model's only call of an operator, as a title says it, of those that could be
    smaller; "" where there are several."""
    calls = re.findall(rf"R\.{re.escape(operator)}\((.*)\)", script)
    given = _ARGUMENT.findall(calls[0]) if len(calls) == 1 else []
    telling = [(name, value) for name, value in given if name not in _OF_TYPES and value not in ("0", "1")]
    if len(telling) != 1:
        return ""
    name, value = telling[0]
    return name if value == "True" or len(value) > _SHORT else f"{name}={value}"


_ARGUMENT = re.compile(r"\b(\w+)=(\[[^\]]*\]|\"[^\"]*\"|[^,()\[\]]+)")
_OF_TYPES = ("dtype", "out_dtype", "out_ty")
_SHORT = 6
"""Letters of a value that a title has room for."""
