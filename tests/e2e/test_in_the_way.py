"""What stood in a new user's way: no traceback for what a user, a shell or a machine may do; one line each."""

from __future__ import annotations

import marshal
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import environment

TZERLIKE = [sys.executable, "-m", "tzerlike"]


def limited(which: int, size: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(which, (size, size))


def complaint(stderr: str) -> str:
    """The one line that a command says on stderr."""
    assert "Traceback" not in stderr, stderr
    (line,) = stderr.splitlines()
    return line


def test_a_full_standard_output_is_a_line(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*TZERLIKE, "seeds", "list"], stdout=full, stderr=subprocess.PIPE, text=True, env=environment(), check=False
        )
    assert done.returncode == 2
    assert complaint(done.stderr) == "tzerlike: No space left on device"


@pytest.mark.long
@pytest.mark.parametrize(
    ("which", "size", "says"),
    [
        (resource.RLIMIT_FSIZE, 10 << 10, "cannot prepare breakpoint coverage: File too large; allow larger files"),
        (resource.RLIMIT_AS, 1_000_000 << 10, "out of memory; raise the limit (ulimit -v)"),
    ],
    ids=["ulimit -f 10", "ulimit -v 1000000"],
)
def test_a_limit_of_the_shell_is_a_line_that_names_it(tmp_path: Path, which: int, size: int, says: str) -> None:
    done = subprocess.run(
        [*TZERLIKE, "fuzz", "--budget", "20s", "--out", str(tmp_path / "c"), "--ui", "none"],
        env=environment(PYTHONPYCACHEPREFIX=str(tmp_path / "compiled"), PYTHONDONTWRITEBYTECODE=""),
        capture_output=True,
        text=True,
        preexec_fn=limited(which, size),
        check=False,
    )
    assert done.returncode == 2, done.stdout
    assert says in complaint(done.stderr)
    for path in (tmp_path / "compiled").glob("**/tzerlike/*/**/*.pyc"):
        marshal.loads(path.read_bytes()[16:])  # no module is left behind that was cut off


@pytest.mark.parametrize(("before", "after"), [("default_int_handler", "SIG_DFL"), ("SIG_IGN", "SIG_IGN")])
def test_ctrl_c_while_everything_is_imported_leaves_no_traceback(before: str, after: str) -> None:
    """From the first line that is ours on; a shell that has switched it off for a job in the background is heard."""
    program = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.{before})
class Watch:
    def find_spec(self, name, *rest):
        if name.startswith("tzerlike.") and name != "tzerlike.__main__":
            assert signal.getsignal(signal.SIGINT) is signal.{after}, name
            sys.exit(0)
import tzerlike
sys.meta_path.insert(0, Watch())
import tzerlike.__main__
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_a_second_night_of_ci_batch_goes_on(tmp_path: Path) -> None:
    batch = ["ci", "batch", "--carry", "state", "--iterations", "3", "--budget", "2m", "--jobs", "1", "--seed", "1"]
    for night in (1, 2):
        done = subprocess.run(
            [*TZERLIKE, *batch, "--oracles", "crash"],
            cwd=tmp_path,
            env={**environment(), "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"night {night}: {done.stdout}{done.stderr}"
    assert (tmp_path / "tzerlike-ci" / "campaign.before" / "campaign.toml").is_file()
    assert (tmp_path / "tzerlike-ci" / "summary.md").is_file()


THREAD = "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
"""What a package does that starts CUDA, or a pool of workers, when it is imported."""


@pytest.mark.parametrize("module", ["torch", "sitecustomize"])
def test_a_package_that_starts_threads_is_kept_out_or_told(tmp_path: Path, module: str) -> None:
    """PyTorch, which tvm_ffi imports where it is, starts CUDA where there is a GPU; nothing can be forked then."""
    (tmp_path / f"{module}.py").write_text(THREAD)
    done = subprocess.run(
        [*TZERLIKE, "fuzz", "--iterations", "2", "--jobs", "1", "--out", str(tmp_path / "c"), "--ui", "none"],
        env=environment(PYTHONPATH=str(tmp_path)),
        capture_output=True,
        text=True,
        check=False,
    )
    if module == "torch":
        assert done.returncode == 0, done.stderr
    else:
        assert done.returncode == 2
        assert complaint(done.stderr).startswith("tzerlike: importing TVM or a plug-in starts threads (python")


def test_seeds_of_which_none_compiles_end_a_campaign_in_a_line(tmp_path: Path) -> None:
    program = "@T.prim_func\ndef main(A: T.Buffer((8,), 'int32')):\n    for i in range(1):\n        A[i] = 5 // i\n"
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds" / "division.py").write_text(program)
    order = ["fuzz", "--seeds", str(tmp_path / "seeds"), "--jobs", "2", "--out", str(tmp_path / "c"), "--ui", "none"]
    done = subprocess.run([*TZERLIKE, *order], env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stdout
    said = (
        "tzerlike: no seed compiles here, so there is nothing to mutate: 2 rejected; try one with `tzerlike run FILE`"
    )
    assert complaint(done.stderr) == said


def test_a_campaign_without_any_seed_ends_in_a_line(tmp_path: Path) -> None:
    order = [
        "fuzz",
        "--harness",
        "graph",
        "--seeds",
        "none",
        "--jobs",
        "1",
        "--out",
        str(tmp_path / "c"),
        "--ui",
        "none",
    ]
    done = subprocess.run([*TZERLIKE, *order], env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stdout
    assert complaint(done.stderr).startswith("tzerlike: there is nothing to mutate: no seeds, and no corpus;")
