"""How reports say things briefly: errors, numbers, programs that can be pasted, inputs that fit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy
from numpy.typing import NDArray

from tzerlike.graph.model import PLAINEST

_LONG_NUMBER = 10
_DIGITS = 6
_ALL_DIGITS = 17
_INPUT_LINES = 20
_WIDTH = 120
_FEW_NAMES = 2
_IMPORT = re.compile(r"^# (from \S+ import (?:\w+ as )?(\w+))$", re.MULTILINE)
_PARAMETER = re.compile(r"(\w+): (?:T\.|\w+\.)")


def first_line(text: str) -> str:
    """The first line of a text that has anything in it."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


_ADDRESS = r"0x[0-9a-f]{6,}"


def without_addresses(text: str) -> str:
    """What TVM says, with dots in place of objects that it prints as their address: `ir.Range(...)`."""
    text = re.sub(rf"(\w)\({_ADDRESS}\)", r"\1(...)", text)
    return re.sub(rf" \({_ADDRESS}\)|\b{_ADDRESS} ?", "", text)


def quotable(message: str) -> str:
    """What a report may quote of what TVM says: no module, and no addresses."""
    return _DIAGNOSTIC.sub("\n...\n", without_addresses(_SCRIPT_BELOW.split(message.strip())[0]))


MESSAGE_LINES = 10
"""So many lines of it a report quotes."""

_DIAGNOSTIC = re.compile(r"\n\s*The IR with diagnostic is:\n[\s\S]*?\n(?=Error message: )")
"""The module that a ScheduleError prints between what failed and why."""

_SCRIPT_BELOW = re.compile(r"\n\s*Error in pass: .*\nLocation \(TVMScript\):")
"""Where TVM goes on to print the module that a pass was given."""


def compiler_words(log: str) -> str:
    """What a CUDA compiler says of the first error: its name once, without notes on headers of this machine."""
    error, *others = log.splitlines()
    if others and error.removeprefix("error: ").replace('"', "") in others[0].replace('"', ""):
        error, *others = others
    cut = next(
        (i for i, line in enumerate(others) if re.search(r": (?:note|error)\b|^\d+ errors? detected", line)), None
    )
    return "\n".join([error, *others[:cut]]).rstrip()


_VERIFIER = "LLVM module verification failed with the following errors:"


def reason(message: str) -> str:
    """What an error of TVM's says, without its class, and of a check its words, or where it has none its condition.

    Of LLVM's verifier and of a CUDA compiler it is what they say first.
    """
    if _VERIFIER in message:
        said = next((line.strip() for line in message.partition(_VERIFIER)[2].splitlines() if line.strip()), "")
        return f"LLVM's verifier: {said}"
    text = re.sub(r"^\w+Error: ", "", message.partition("\n")[0].strip())
    # An object that is printed as its address says nothing.
    text = re.sub(rf"(?<= is false: ){_ADDRESS} .*", "", text)
    check = re.fullmatch(r"Check failed: (?:\((.*)\) is false:?|(.* \(.* vs\. .*\)) :) *(\S.*)?", text)
    if check is None:
        return text
    wordless = not check[3] or re.fullmatch(r"\w+=\S+", check[3])
    return f"check {check[1] or check[2]}" if wordless else check[3]


def bare_buffer(piece: str, script: str) -> str:
    """The parameter of one element that a piece of TVMScript has without its index, as TVM prints it, or ""."""
    names = re.findall(r"(\w+): T\.Buffer\(\(1,\)", script)
    return next((name for name in names if re.search(rf"(?<![\w.]){name}(?![\w\[:(.])", piece)), "")


def never_computed(message: str) -> str:
    """What TVM computes, or would, where a program never does since it has no undefined behavior; "" where TVM says
    another thing. The program may have it where nothing is executed, or an analysis makes it up."""
    if re.search("[Dd]ivide by zero", message):
        return "division by zero in TVM's own arithmetic"
    negative = re.search(r"cannot make uint from negative value (-[\w.]+)", message)
    return f"it makes an unsigned constant of {negative[1]}" if negative else ""


def allocated_inside(message: str, script: str) -> str:
    """The buffer of which TVM says that it is not in its block's signature, where that block allocates it, or ""."""
    found = re.search(r'buffer "(\w+)" is \w+ in the block but is not in the block\'s signature', message)
    return found[1] if found and re.search(rf"^ *{found[1]} = T\.sblock_alloc_buffer\(", script, re.MULTILINE) else ""


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


_SEVERAL = 4


def huge_extent(script: str) -> str:
    """The largest extent of a loop of TVMScript, where it has seven digits or more, else ""."""
    loops = re.findall(r"\b(?:range|T\.(?:grid|serial|unroll|parallel|vectorized))\(([^\n]*)\):", script)
    return str(max((int(number) for loop in loops for number in re.findall(r"\b\d{7,}\b", loop)), default=""))


def symbolic_thread(script: str) -> str:
    """The virtual thread of a program of TVMScript whose extent is a name, which hardly any program has, or ""."""
    found = re.search(r'T\.thread_binding\(([A-Za-z_]\w*), thread="(vthread[.\w]*)"', script)
    return f" on {found[2]} of symbolic extent" if found else ""


def makes_closures(script: str) -> bool:
    """Whether a model in TVMScript has a function inside of a function."""
    depths = {len(indent) for indent in re.findall(r"^( *)@R\.function", script, re.MULTILINE)}
    return len(depths) > 1


_NESTED = re.compile(r'^( *)with T\.sblock\("(?!root").*\n(?:\1 .*\n)*?\1 +with T\.sblock\(', re.MULTILINE)
"""A block inside of another one."""


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


_OPERATOR = re.compile(r"\b(?:relax\.op|R)\.((?:nn|image|vision|grad)\.\w+|[a-z]\w*)\(")
_ONNX_OPERATOR = re.compile(r'\bhelper\.make_node\("(\w+)"')
_TORCH_OPERATOR = re.compile(r"^ +(?:x\d+, )*x\d+ = (?:torch\.(?:nn\.functional\.)?|x\d+\.)(\w+)\(", re.MULTILINE)
_NO_OPERATORS = frozenset(
    ("function", "dataflow", "output", "shape", "prim_value", "dtype", "str", "Neg", "Not", "Add", "Identity", "neg")
)
"""What TVMScript calls that computes nothing, and what ONNX and PyTorch call those that reductions put in the place of
any."""

_USUAL_DTYPES = frozenset(("float32", "int32", "int64", "bool"))


def called_operators(script: str) -> list[str]:
    """The operators that a model calls, where it calls one or two; else those with a namespace, where there are few.

    Those that reductions put in the place of any do not count.
    """
    nothing = _NO_OPERATORS.union(PLAINEST)
    named = _ONNX_OPERATOR.findall(script) or (_TORCH_OPERATOR if "torch.nn.Module" in script else _OPERATOR).findall(
        script
    )
    found = list(dict.fromkeys(name for name in named if name not in nothing))
    for named in (found, [name for name in found if "." in name]):
        if len(named) <= _FEW_NAMES:
            return named
    return []


_EXTENTS = r"\(([^()]*(?:\([^()]*\)[^()]*)*)\)"
_SHAPED = re.compile(rf"T\.Buffer\({_EXTENTS},")
_STRIDED = re.compile(rf"{_SHAPED.pattern}[^\n]*?strides={_EXTENTS}")


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


def unusual_dtype(script: str) -> str:
    """The dtype of tensors in a model that few models have, where there is one such; "" where not."""
    dtypes = set(re.findall(r'R\.Tensor\(.*?dtype="(\w+)"', script))
    # Most conditions are of bool: alone it is another thing.
    found = dtypes if dtypes == {"bool"} else dtypes - _USUAL_DTYPES
    return found.pop() if len(found) == 1 else ""


def brief(baseline: str) -> str:
    """What a baseline build is, with the number of the passes that it leaves out in place of their names."""
    names = re.search(r"without (\w+(?:, \w+){3,})", baseline)
    return baseline if names is None else baseline.replace(names[1], f"{names[1].count(',') + 1} optional passes")


def short_number(text: str, digits: int = _DIGITS) -> str:
    """A number in as many digits as a reader can compare; one of few digits, or whole, as it is."""
    if len(text) <= _LONG_NUMBER or not re.search(r"[.e]", text):
        return text
    try:
        return f"{float(text):.{digits}g}"
    except ValueError:
        return text


def short_numbers(got: str, expected: str) -> tuple[str, str]:
    """Two numbers that differ, in digits in which they still do."""
    for digits in range(_DIGITS, _ALL_DIGITS, 2):
        short = short_number(got, digits), short_number(expected, digits)
        if short[0] != short[1]:
            return short
    return got, expected


def bound(text: str) -> str:
    """How far off a result may be, in two digits."""
    try:
        return text if len(text) <= _DIGITS else f"{float(text):.2g}"
    except ValueError:
        return text


_SCRIPTS = {"I": "ir as I", "R": "relax as R", "T": "tirx as T"}
"""What a module that TVM prints without its imports takes from tvm.script."""


PARSED_ONLY = "from __future__ import annotations"
"""Python would evaluate annotations, which TVM only parses."""


def pasted(script: str) -> str:
    """A program with the imports that it needs, as code: TVM prints them as a comment, needed or not, or not at all.

    Comments above it are left out: they are about the program in another notation.
    """
    if "from tvm.script import" not in script:
        if re.search(r"^from tvm import ", script, re.MULTILINE):
            return script[script.index("from tvm import ") :]
        body = re.sub(r"\A(?:#.*\n|\n)+", "", script)
        needed = [f"from tvm.script import {what}\n" for name, what in _SCRIPTS.items() if f"{name}." in body]
        named = [f"{PARSED_ONLY}\n\n", "from typing import TypeVar\n"] * ("TypeVar(" in body)
        body = re.sub(
            r"^(\w+ = TypeVar\(.*\)\n)(?=[@a-z])(?!\w+ = TypeVar)", r"\1\n\n", body, count=0, flags=re.MULTILINE
        )
        return "".join([*named, *needed, "\n" * bool(needed), body])

    def imported(match: re.Match[str]) -> str:
        used = re.search(rf"\b{match[2]}\b", script[script.rfind("# from ") :].partition("\n")[2])
        return match[1] if used else ""

    text = re.sub(r"^(\w+ = TypeVar\(.*\)\n)(?=@)", r"\1\n\n", _IMPORT.sub(imported, script), flags=re.MULTILINE)
    text = re.sub(r"\A((?:from .*\n|\n)+)", lambda head: re.sub(r"\n+", "\n", head[0]).lstrip("\n") + "\n", text)
    return f"{PARSED_ONLY}\n\n" * ("TypeVar(" in text) + text


def inputs_text(arrays: Mapping[str, NDArray[Any]], script: str) -> str:
    """What a program runs on and what it computes, a line or more for each array; "" where that takes many lines."""
    # A number takes three characters at least; to print many takes long.
    if any(3 * array.size > _WIDTH * _INPUT_LINES for array in arrays.values()):
        return ""
    head = script.partition("def main(")[2].partition("):\n")[0]
    names = _PARAMETER.findall(head)
    lines = []
    for index in range(len(arrays)):
        before, after = arrays.get(f"argument{index}"), arrays.get(f"expected{index}")
        if before is None:
            break
        name = names[index] if index < len(names) else f"argument {index}"
        lines.append(_assigned(name, before))
        if after is not None and not numpy.array_equal(before, after, equal_nan=before.dtype.kind == "f"):
            lines.append(_assigned(f"{name} (expected)", after))
    text = "\n".join(lines)
    return text if len(text.splitlines()) <= _INPUT_LINES else ""


def _assigned(name: str, array: NDArray[Any]) -> str:
    start = f"{name} = "
    return start + numpy.array2string(
        array, separator=", ", threshold=1 << 30, max_line_width=_WIDTH, precision=6, prefix=start
    )
