"""Features that tzerlike needs and an installed TVM lacks. Importing this loads TVM."""

from __future__ import annotations

from tzerlike.systems.tvm_api import KNOWN_IR, LLVM_VERSION, SYSTEM, TVM_VERSION, part


def lacking() -> dict[str, str]:
    """Return feature -> why it cannot be had: harnesses by name, what oracles look at (Check), and oracles by name."""
    found: dict[str, str] = {}
    if not KNOWN_IR:
        nodes = f"TVM {TVM_VERSION} has other nodes than {SYSTEM.described_from}, and these are not described"
        found |= dict.fromkeys(("graph", "types", "metamorphic", "primitives"), nodes)
    if LLVM_VERSION is None:
        found["results"] = "it is built without LLVM: what it makes of a program is C source, which is not run"
    for harness, module in (("graph", "relax"), ("arith", "sym")):
        try:
            part(module)
        except ImportError:
            found[harness] = f"it has no tvm.{module}"
    return found
