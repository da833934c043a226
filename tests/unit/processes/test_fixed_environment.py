"""What processes with TVM are started with does not depend on who starts them; no TVM here."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tzerlike.processes.caller import adopt, zygote_environment
from tzerlike.processes.fixed_environment import callers_variables, fixed_environment

SOMEBODY = {"PATH": "/usr/bin:/bin", "HOME": "/home/somebody", "PYTHONHASHSEED": "0"}
SOMEBODY_ELSE = {
    "PATH": "/opt/a/long/way/to/bin:/usr/bin",
    "HOME": "/",
    "LC_ALL": "en_US.UTF-8",
    "LANG": "C",
    "TMPDIR": "/var/tmp",
    "CUDA_VISIBLE_DEVICES": "0,1",
    "TVM_CUDA_COMPILE_MODE": "nvrtc",
    "PYTHONHASHSEED": "0",
}


def tool(directory: Path, name: str) -> None:
    directory.mkdir(exist_ok=True)
    (directory / name).write_text("#!/bin/sh\n")
    (directory / name).chmod(0o755)


def test_two_callers_give_the_same_environment() -> None:
    assert fixed_environment(SOMEBODY) == fixed_environment(SOMEBODY_ELSE)


def test_what_is_left_out_is_what_workers_are_given() -> None:
    left_out = callers_variables(SOMEBODY_ELSE)
    assert left_out == {name: value for name, value in SOMEBODY_ELSE.items() if name != "PYTHONHASHSEED"}


def test_what_locates_a_library_stays() -> None:
    assert fixed_environment({**SOMEBODY, "LD_LIBRARY_PATH": "/opt/cuda/lib64"})["LD_LIBRARY_PATH"] == "/opt/cuda/lib64"


def test_children_find_an_nvcc_that_is_elsewhere_and_the_compiler_that_it_needs(tmp_path: Path) -> None:
    tool(tmp_path / "cuda", "nvcc")
    tool(tmp_path / "gcc", "g++")
    tool(tmp_path / "other", "cmake")
    path = os.pathsep.join([str(tmp_path / "other"), str(tmp_path / "gcc"), str(tmp_path / "cuda"), "/usr/bin"])
    found = fixed_environment({**SOMEBODY, "PATH": path})["PATH"].split(os.pathsep)
    assert found[:2] == [str(tmp_path / "cuda"), str(tmp_path / "gcc")]
    assert str(tmp_path / "other") not in found
    assert "/usr/bin" in found


def test_an_inherited_environment_of_another_process_gives_the_same_one_here() -> None:
    script = "import json; from tzerlike.processes.caller import zygote_environment as z; print(json.dumps(z()))"
    seen = []
    for directory, more in (("/", {}), ("/usr", {"LC_ALL": "C", "TMPDIR": "/var/tmp", "HOME": "/root/x", "FOO": "1"})):
        run = subprocess.run(
            [sys.executable, "-c", script],
            cwd=directory,
            env={"PATH": os.environ["PATH"], **more},
            capture_output=True,
            check=True,
        )
        seen.append(fixed_environment(json.loads(run.stdout)))
    assert seen[0] == seen[1]


def test_the_directory_that_a_script_lies_in_is_not_imported_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "script.py")])
    monkeypatch.setattr(sys, "path", [str(tmp_path), "/elsewhere", "relative.entry"])
    assert zygote_environment()["PYTHONPATH"] == "/elsewhere"


def test_a_plain_first_entry_of_the_path_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path), "/elsewhere"])
    assert zygote_environment()["PYTHONPATH"] == f"{tmp_path}{os.pathsep}/elsewhere"


def test_a_worker_takes_over_the_callers_directory_and_variables(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        adopt(str(tmp_path), {"HOME": "/home/somebody", "TMPDIR": str(tmp_path)})
        import tempfile

        right = (
            os.getcwd() == str(tmp_path)
            and os.environ["HOME"] == "/home/somebody"
            and tempfile.gettempdir() == str(tmp_path)
        )
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_the_stack_limit_is_the_same_whatever_it_was() -> None:
    script = (
        "import resource as r; from tzerlike.processes.fixed_environment import settle_stack as s;"
        "print(s(), r.getrlimit(r.RLIMIT_STACK)[0], s())"
    )

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_STACK, (16 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))

    run = subprocess.run([sys.executable, "-c", script], preexec_fn=limited, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True", str(8 << 20), "False"]
