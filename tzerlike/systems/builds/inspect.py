"""Run inside the environment of a build: load its TVM and describe it, as a line of JSON."""

from __future__ import annotations

import json
import sys

from tzerlike.coverage import SancovCoverage
from tzerlike.systems import tvm_api
from tzerlike.systems.lacking import lacking


def main() -> None:
    coverage = SancovCoverage(1)
    found = {
        "version": str(tvm_api.tvm.__version__),
        "llvm": str(tvm_api.tvm.target.codegen.llvm_version_major()),
        "edges": coverage.total,
        "coverage": ["sancov"],
        "lacks": lacking(),
        "libraries": {library.path.name: len(library.addresses) for library in coverage.libraries},
    }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
