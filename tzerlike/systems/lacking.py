"""Features that tzerlike needs and an installed TVM lacks. Importing this loads TVM."""

from __future__ import annotations

from tzerlike.systems.tvm_api import KNOWN_IR, LLVM_VERSION, SYSTEM, TVM_VERSION, part


def lacking() -> dict[str, str]:
    """Return feature -> why it cannot be had: harnesses by name, what oracles look at (Check), and oracles by name."""
    found: dict[str, str] = {}
    if not KNOWN_IR:
        nodes = f"TVM {TVM_VERSION} has other nodes than TVM {SYSTEM.described_from}; tzerlike does not know them"
        found |= dict.fromkeys(("graph", "types", "metamorphic", "primitives"), nodes)
    if LLVM_VERSION is None:
        found["results"] = "it is built without LLVM: programs become C source, which is not run"
    for harness, module in (("graph", "relax"), ("arith", "sym")):
        try:
            part(module)
        except ImportError:
            found[harness] = f"it has no tvm.{module}"
    return found
