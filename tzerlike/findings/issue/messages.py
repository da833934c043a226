"""What TVM and the compilers behind it say, as reports quote it."""

from __future__ import annotations

import re

MESSAGE_LINES = 10
"""So many lines of it a report quotes."""

_ADDRESS = r"0x[0-9a-f]{6,}"
_DIAGNOSTIC = re.compile(r"\n\s*The IR with diagnostic is:\n[\s\S]*?\n(?=Error message: )")
"""The module that a ScheduleError prints between what failed and why."""

_SCRIPT_BELOW = re.compile(r"\n\s*Error in pass: .*\nLocation \(TVMScript\):")
"""Where TVM goes on to print the module that a pass was given."""

_VERIFIER = "LLVM module verification failed with the following errors:"


def first_line(text: str) -> str:
    """The first line of a text that has anything in it."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def without_addresses(text: str) -> str:
    """What TVM says, with dots in place of objects that it prints as their address: `ir.Range(...)`."""
    text = re.sub(rf"(\w)\({_ADDRESS}\)", r"\1(...)", text)
    return re.sub(rf" \({_ADDRESS}\)|\b{_ADDRESS} ?", "", text)


def quotable(message: str) -> str:
    """What a report may quote of what TVM says: no module, and no addresses."""
    return _DIAGNOSTIC.sub("\n...\n", without_addresses(_SCRIPT_BELOW.split(message.strip())[0]))


def compiler_words(log: str) -> str:
    """What a CUDA compiler says of the first error: its name once, without notes on headers of this machine."""
    error, *others = log.splitlines()
    if others and error.removeprefix("error: ").replace('"', "") in others[0].replace('"', ""):
        error, *others = others
    cut = next(
        (i for i, line in enumerate(others) if re.search(r": (?:note|error)\b|^\d+ errors? detected", line)), None
    )
    return "\n".join([error, *others[:cut]]).rstrip()


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


def never_computed(message: str) -> str:
    """What TVM computes, or would, where a program never does since it has no undefined behavior; "" where TVM says
    another thing. The program may have it where nothing is executed, or an analysis makes it up."""
    if "fb->value != 0" in message:  # of src/ir/prim/const_fold.h: floats, for which IEEE 754 has a quotient
        return "division of floats by zero"
    if re.search("[Dd]ivide by zero", message):
        return "division by zero in TVM's own arithmetic"
    negative = re.search(r"cannot make uint from negative value (-[\w.]+)", message)
    return f"it makes an unsigned constant of {negative[1]}" if negative else ""
