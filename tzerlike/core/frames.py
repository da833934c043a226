"""The C++ frames that an exception came through, and their names as a part of signatures."""

from __future__ import annotations

import re
import traceback

_AT = " at "
_ABOVE_SOURCES = re.compile(r"^.*?/(?=(?:src|include|3rdparty|ffi)/)")
_NO_LINE = "<unknown>"
_CALLED_BACK = "ForwardPyErrorToFFI"
_OF_COMPILER = re.compile(r"\btvm::(?!ffi::)")
_CALL_OF_PASS = "tvm/ir/transform.py"
_PACKAGE = re.compile(r"/(tvm/(?!.*/tvm/).+\.py)$")


def cpp_frames(error: BaseException) -> list[str]:
    """The C++ functions that an exception came through, from the innermost out, each with its file and line where TVM
    says them: `tvm::A::f(int) at src/a.cc:7`."""
    frames = []
    for frame, line in traceback.walk_tb(error.__traceback__):
        name, file = frame.f_code.co_name, frame.f_code.co_filename
        if "::" in name:
            frames.append(name if file == _NO_LINE else f"{name}{_AT}{_ABOVE_SOURCES.sub('', file)}:{line}")
    return frames[::-1]


def python_place(error: BaseException) -> str:
    """The file and line of the compiler's Python that raised, or asked for what raised, where C++ had called it or
    there is no C++; "" elsewhere."""
    place, called_back, seen = "", False, False
    for frame, line in traceback.walk_tb(error.__traceback__):
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        seen |= "::" in name
        called_back |= _CALLED_BACK in name
        package = _PACKAGE.search(file)
        if package and (called_back or not seen):
            place = "" if package[1] == _CALL_OF_PASS else f"{package[1]}:{line}"
        elif _OF_COMPILER.search(name):
            # That did more than to look into a container.
            place = ""
    return place if called_back or not seen else ""


def place_in(frame: str) -> str:
    """The file and line that a frame has, "" where it has none."""
    return frame.rpartition(_AT)[2] if _AT in frame else ""


def function_name(signature: str) -> str:
    """Return the qualified name in a C++ signature: `virtual void tvm::A::f(int) const` is `tvm::A::f`.

    What is no signature stays as it is, but for its place.
    """
    signature, _, _ = signature.partition(_AT)
    head, parenthesis, _ = signature.partition("(")
    return head.rpartition(" ")[2] if parenthesis and re.fullmatch(r"[\w:~]+", head.rpartition(" ")[2]) else signature
