"""The frame of a regression test: imports, one test, and the way TVM's own test files end."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

TEST_FILE = "test_regression.py"
"""What the test is called in a bundle."""

PROBLEMS = {
    "crash": "crash",
    "hang": "hang",
    "oom": "memory",
    "wrong-code": "wrong_code",
    "ice-on-valid": "internal_error",
    "invalid-ir": "invalid_ir",
}
"""What the name of a test ends in, by kind; there is no test of speed."""

UNCHANGED = "assert tvm_ffi.structural_hash(Module) == before"
"""What a test ends with that applies a pass to its program, and to nothing else."""

_FROM_TVM = re.compile(r"from tvm import (\w+)")


def pytest_file(name: str, body: Sequence[str], imports: Sequence[str] = (), outside: Sequence[str] = ()) -> str:
    """Return a file with `test_NAME`, whose statements are the pieces of `body`, below the definitions `outside`.

    Empty pieces are left out; imports are sorted and merged, those of TVM itself are always there.
    """
    wanted = {*imports, "import tvm", "import tvm.testing"}
    merged = sorted(match[1] for line in wanted if (match := _FROM_TVM.fullmatch(line)))
    if merged:
        wanted = {line for line in wanted if not _FROM_TVM.fullmatch(line)} | {f"from tvm import {', '.join(merged)}"}
    # `import` before `from`.
    ordered = sorted(wanted, key=lambda line: (line.startswith("from"), line))
    groups = ["\n".join(line for line in ordered if _group(line) == group) for group in range(4)]
    pieces = [piece.strip("\n") for piece in body if piece.strip()]
    test = f"def test_{name}():\n" + textwrap.indent("\n\n".join(pieces), "    ")
    head = "\n\n".join(group for group in groups if group)
    parts = [head, *(piece.strip("\n") for piece in outside if piece.strip()), test]
    return "\n\n\n".join(parts) + '\n\n\nif __name__ == "__main__":\n    tvm.testing.main()\n'


def snake_case(name: str) -> str:
    """`InjectVirtualThread` as part of a function's name."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.replace("TIRx", "Tirx"))
    return re.sub(r"\W+", "_", words).strip("_").lower()


def _group(line: str) -> int:
    """The future, the standard library, others, TVM."""
    module = line.split()[1].partition(".")[0]
    return 2 if module in _OTHERS else {"__future__": 0, "tvm": 3}.get(module, 1)


_OTHERS = frozenset(("ml_dtypes", "numpy", "onnx", "pytest", "torch", "tvm_ffi"))
