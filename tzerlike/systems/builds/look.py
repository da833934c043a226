"""Run inside an environment: load its TVM, and describe it and what it lacks, as a line of JSON."""

from __future__ import annotations

import json
import sys

from tzerlike.coverage.sancov import instrumented
from tzerlike.systems import tvm_api
from tzerlike.systems.lacking import lacking


def main() -> None:
    library = tvm_api.compiler_library()
    if not library.is_file():
        sys.exit(f"{library} is not there")
    found = {
        "version": tvm_api.TVM_VERSION,
        "ffi": str(tvm_api.tvm_ffi.__version__),
        "llvm": str(tvm_api.LLVM_VERSION or "none"),
        "loaded_from": str(library),
        "coverage": ["sancov"] if instrumented() else ["breakpoint"],
        "lacks": lacking(),
    }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
