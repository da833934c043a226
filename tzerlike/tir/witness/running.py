"""Programs in C compiled with gcc's sanitizers, and run: many in a file, each in separate processes."""

from __future__ import annotations

import shutil
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tzerlike.core.health import HealthCheck
from tzerlike.tir.witness.program import Written

_HERE = Path(__file__).parent
_COMPILER: Final = "gcc"
_OPTIONS: Final = (
    "-std=gnu11 -O0 -w -ffp-contract=off -fno-sanitize-recover=all "
    "-fsanitize=undefined,address,float-cast-overflow,float-divide-by-zero"
)
_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "ASAN_OPTIONS": "detect_leaks=0:exitcode=66:allocator_may_return_null=1:quarantine_size_mb=16",
    "UBSAN_OPTIONS": "print_stacktrace=0",
}
_COMPILE_SECONDS = 20, 2
"""Time to compile a file: this, and so much a program."""
_PASSES = 2


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What became of one program: the memory of its buffers after each of two runs, or why there is none.

    `word` is "ran", "undefined" with the rule in `text`, or "unknown" with the reason.
    """

    word: str
    text: str = ""
    memories: tuple[bytes, ...] = ()


def examine_witness() -> HealthCheck:
    """Say whether there is a compiler for what the witness writes."""
    found = shutil.which(_COMPILER)
    return HealthCheck(
        "witness",
        found is not None,
        found or f"no {_COMPILER}",
        f"install {_COMPILER}: without it nothing confirms wrong code by a second reading, and all of that is tier 2",
        needed=False,
    )


def run_programs(programs: Sequence[Written], inputs: Sequence[Sequence[bytes]], seconds: int = 5) -> list[RunOutcome]:
    """Run programs on the bytes of their buffers; each run may take `seconds` of processor time."""
    compiler = shutil.which(_COMPILER)
    if compiler is None:
        return [RunOutcome("unknown", f"no {_COMPILER}")] * len(programs)
    with tempfile.TemporaryDirectory(prefix="tzerlike-witness-") as name:
        directory = Path(name)
        (directory / "programs.c").write_text(_source(programs), encoding="ascii")
        for number, buffers in enumerate(inputs):
            packed = b"".join(struct.pack("<Q", len(buffer)) + buffer for buffer in buffers)
            (directory / f"{number}.in").write_bytes(packed)
        order = [compiler, *_OPTIONS.split(), f"-I{_HERE}", "-o", "programs", "programs.c", "-lm"]
        environment = _ENVIRONMENT | {"TMPDIR": name}
        try:
            done = subprocess.run(
                order,
                cwd=directory,
                env=environment,
                capture_output=True,
                timeout=_COMPILE_SECONDS[0] + _COMPILE_SECONDS[1] * len(programs),
                check=False,
            )
            if done.returncode:
                said = next((line for line in done.stderr.decode(errors="replace").splitlines() if "error" in line), "")
                return [RunOutcome("unknown", f"gcc: {said[:200]}")] * len(programs)
            ran = subprocess.run(
                [str(directory / "programs"), str(seconds)],
                cwd=directory,
                env=environment,
                capture_output=True,
                timeout=10 + 8 * seconds * len(programs),
                check=False,
            )
        except subprocess.TimeoutExpired:
            return [RunOutcome("unknown", "time")] * len(programs)
        codes = [int(code) for code in ran.stdout.split()]
        if len(codes) != _PASSES * len(programs):
            return [RunOutcome("unknown", "the witness died")] * len(programs)
        pairs = zip(codes[::2], codes[1::2], strict=True)
        return [_outcome(directory, number, pair) for number, pair in enumerate(pairs)]


def _source(programs: Sequence[Written]) -> str:
    parts = ['#include "prelude.h"\n']
    for number, program in enumerate(programs):
        cells = "".join(f"static memory {cell};\n" for cell in program.memories)
        body = "\n".join(program.lines)
        parts.append(f"static void run{number}(void **p) {{\n{cells}{body}\n}}\n")
    table = ", ".join(f"{{run{number}, {len(program.parameters)}}}" for number, program in enumerate(programs))
    return "".join([*parts, f"static program programs[] = {{{table}}};\n", '#include "runner.h"\n'])


def _outcome(directory: Path, number: int, codes: tuple[int, int]) -> RunOutcome:
    for run, code in enumerate(codes):
        rule = directory / f"{number}.{run}.rule"
        if code == 3 and rule.exists():
            word, _, text = rule.read_text().partition(" ")
            return RunOutcome(word, text)
        if code:
            said = (directory / f"{number}.{run}.err").read_text(errors="replace")
            marked = [
                line.strip() for line in said.splitlines() if "runtime error:" in line or "ERROR: AddressSan" in line
            ]
            if marked:
                return RunOutcome(
                    "undefined", f"sanitizer: {marked[0].split('error:')[-1].split('ERROR:')[-1].strip()[:160]}"
                )
            return RunOutcome("unknown", "time" if code in (-24, -14, -9) else f"the witness died ({code})")
    return RunOutcome("ran", "", tuple((directory / f"{number}.{run}.out").read_bytes() for run in range(_PASSES)))
