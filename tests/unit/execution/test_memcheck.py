"""compute-sanitizer, as far as one that is not there can be looked at: a script that answers like it stands in."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tzerlike.execution.cuda.memcheck import checked

ANSWERS = """#!{python}
import subprocess, sys
tool = sys.argv[sys.argv.index("--tool") + 1]
status = int(sys.argv[sys.argv.index("--error-exitcode") + 1])
first = next(i for i, word in enumerate(sys.argv) if word.endswith("python") or word == sys.executable)
print("========= COMPUTE-SANITIZER")
done = subprocess.run(sys.argv[first:], capture_output=True, text=True)
print(done.stdout)
if tool in done.stdout:
    print("========= Invalid __global__ write of size 4 bytes")
    print("=========     at main_kernel+0x90")
    print("========= ERROR SUMMARY: 1 error")
    sys.exit(status)
print("========= ERROR SUMMARY: 0 errors")
sys.exit(done.returncode)
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "compute-sanitizer"
    path.write_text(ANSWERS.format(python=sys.executable))
    path.chmod(0o755)
    return str(path)


def test_the_complaints_of_each_tool_are_kept(tmp_path: Path, program: str) -> None:
    script = tmp_path / "repro.py"
    script.write_text("print('what the script says: memcheck synccheck')\nraise SystemExit(1)\n")
    said = checked(script, lambda name: program if name == "compute-sanitizer" else None)
    assert [line for line in said.splitlines() if line.endswith(":")] == ["memcheck:", "synccheck:"]
    assert said.count("Invalid __global__ write of size 4 bytes") == 2
    assert "what the script says" not in said


def test_a_wrong_result_without_a_complaint_says_nothing(tmp_path: Path, program: str) -> None:
    script = tmp_path / "repro.py"
    script.write_text("raise SystemExit(1)\n")
    assert checked(script, lambda name: program) == ""


def test_without_the_program_nothing_runs(tmp_path: Path) -> None:
    script = tmp_path / "repro.py"
    script.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    assert checked(script, lambda name: None) == ""
    assert checked(script, lambda name: str(tmp_path / "gone")) == ""
    assert not (tmp_path / "ran").exists()
