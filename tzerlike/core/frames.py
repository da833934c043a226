"""Stack frames as a part of signatures."""

from __future__ import annotations

import re


def function_name(signature: str) -> str:
    """Return the qualified name in a C++ signature: `virtual void tvm::A::f(int) const` is `tvm::A::f`.

    What is no signature stays as it is.
    """
    head, parenthesis, _ = signature.partition("(")
    return head.rpartition(" ")[2] if parenthesis and re.fullmatch(r"[\w:~]+", head.rpartition(" ")[2]) else signature
