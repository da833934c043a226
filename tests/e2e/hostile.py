"""Bundles whose programs try to harm: each takes long enough that the interpreter does not see to its end, and is
compiled and run for that, unless something looks at what it calls."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy

from tests.bundles import add_bundle, wrong
from tzerlike.core.finding import Signed

LOOP = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((64,), "float32")):
    for i in range(30000):
        A[0] = A[0] * T.float32(0.5) + T.float32(1)
{body}
"""

PROGRAMS = {
    "a shell command": 'T.evaluate(T.call_extern("int32", "system", "touch HERE/harmed"))',
    "a new file": 'T.evaluate(T.call_extern("int32", "creat", "HERE/harmed", 438))',
    "a file removed": 'T.evaluate(T.call_extern("int32", "unlink", "HERE/precious"))',
    "fork bomb": 'for j in range(100000):\n        T.evaluate(T.call_extern("int32", "fork"))',
    "kill the parent": 'T.evaluate(T.call_extern("int32", "kill", T.call_extern("int32", "getppid"), 9))',
    "kill everybody": 'T.evaluate(T.call_extern("int32", "kill", -1, 15))',
    "flood": 'for j in range(100000):\n        T.evaluate(T.call_extern("int32", "puts", "' + "x" * 1000 + '"))',
    "far behind": "for j in range(64):\n        A[16448 + j] = T.float32(7)",
    "far in front": "for j in range(64):\n        A[j - 16448] = T.float32(7)",
    "everywhere up": "for j in range(400000):\n        A[j * 256] = T.float32(7)",
    "everywhere down": "for j in range(400000):\n        A[0 - j * 256] = T.float32(7)",
}
"""What each does once its loop is over."""

_TO_JSON = """
import json, sys
from tzerlike.systems import tvm_api
texts = json.load(sys.stdin)
print(json.dumps([tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(text))) for text in texts]))
"""


def programs() -> dict[str, str]:
    """The programs by name, as JSON."""
    texts = [LOOP.format(body=f"    {body}") for body in PROGRAMS.values()]
    done = subprocess.run(
        [sys.executable, "-c", _TO_JSON], input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    return dict(zip(PROGRAMS, json.loads(done.stdout), strict=True))


def write_bundles(directory: Path, here: Path, irs: dict[str, str]) -> list[Path]:
    """Write a bundle of each of the `programs`, which claims to be wrong code; they are after files in `here`."""
    bundles = []
    for name, text in irs.items():
        ir = text.replace("HERE", str(here))
        found = Signed("wrong-code", ("optimised", name))
        path = add_bundle(directory, found, wrong("value"), ir=ir)
        observation = json.loads((path / "observation.json").read_text())
        observation["environment"]["oracles"] = ["crash", "inconsistency"]
        (path / "observation.json").write_text(json.dumps(observation))
        numpy.savez(path / "inputs.npz", scheme=numpy.array("small"), argument0=numpy.ones(64))
        bundles.append(path)
    return bundles
