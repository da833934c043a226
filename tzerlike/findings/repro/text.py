"""The `repro.py` of a program that does not come back from its own text."""

from __future__ import annotations

from tzerlike.core.case import Case
from tzerlike.findings.repro.parts import program_source, quotable

_REPRO = '''\
"""{title}

A well-formed program that TVM does not read back from its own TVMScript. Exits non-zero while that is so.
"""

import sys

import tvm
from tvm_ffi import get_first_structural_mismatch

{program}
try:
    script = module.script()
    print(script)
    again = tvm.script.from_source(script)
except Exception as error:
    print(f"the program does not survive its text: {{error}}")
    sys.exit(1)
mismatch = get_first_structural_mismatch(module, again)
if mismatch is not None:
    print(f"another program comes back: it differs first at {{mismatch[0]}}")
    sys.exit(1)
print("the program comes back from its text: the bug does not show")
'''


def text_repro(title: str, case: Case) -> str:
    """Return the text of `repro.py` for the program of a case."""
    return _REPRO.format(title=quotable(title), program=program_source(case, ""))
