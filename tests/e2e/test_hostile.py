"""Bundles from a stranger that try to harm, taken through every command that runs bundles, as root and as an ordinary
user: all come to their end, say so in a line for each, and nothing outside of the bundles changes."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.e2e.conftest import environment
from tests.e2e.hostile import PROGRAMS, programs, write_bundles
from tzerlike.core.storage import write_json
from tzerlike.core.untrusted import read_json
from tzerlike.findings.cases import read_case
from tzerlike.processes.confine import why_unconfined

needs_confinement = pytest.mark.skipif(why_unconfined() != "", reason="this machine cannot confine a process")

# This checkout may lie where an ordinary user cannot read it.
READER = "-all,+dac_read_search"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", f"--inh-caps={READER}"]
NOBODY += [f"--ambient-caps={READER}"]


@pytest.fixture(params=["root", "nobody"])
def user(request: pytest.FixtureRequest) -> str:
    if os.geteuid() != 0 and request.param == "root":
        pytest.skip("not root")
    if os.geteuid() == 0 and request.param == "nobody" and shutil.which("setpriv") is None:
        pytest.skip("no setpriv to become an ordinary user with: apt-get install util-linux")
    return str(request.param)


@pytest.fixture(scope="module")
def irs() -> dict[str, str]:
    return programs()


@pytest.fixture
def place(irs: dict[str, str]) -> Iterator[Path]:
    """What the commands get: the bundles, and beside them a directory to run in that holds something precious."""
    with tempfile.TemporaryDirectory(prefix="tzerlike-hostile-") as name:
        root = Path(name)
        (root / "here").mkdir()
        write_bundles(root / "findings", root / "here", irs)
        (root / "here" / "precious").write_text("as it was")
        for path in (root, *root.rglob("*")):
            path.chmod(0o777)
        yield root


def run(place: Path, user: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command there and look whether it left anything behind."""
    prefix = NOBODY if user == "nobody" and os.geteuid() == 0 else []
    done = subprocess.run(
        [*prefix, sys.executable, "-m", "tzerlike", *map(str, arguments)],
        cwd=place / "here",
        env=environment(XDG_CACHE_HOME=str(place / "cache")),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        start_new_session=True,
    )
    assert "Traceback" not in done.stderr and "internal error" not in done.stderr, done.stderr
    assert os.listdir(place / "here") == ["precious"]
    assert (place / "here" / "precious").read_text() == "as it was"
    here = str(place / "here")
    assert not [process for process in psutil.process_iter() if _cwd(process) == here]
    return done


def _cwd(process: psutil.Process) -> str:
    try:
        return process.cwd()
    except psutil.Error:
        return ""


def bundles(place: Path) -> list[Path]:
    return sorted((place / "findings").iterdir())


@needs_confinement
def test_replay_says_a_line_of_each(place: Path, user: str) -> None:
    if user == "root":
        pytest.skip("as root: test_every_command_survives_them")
    done = run(place, user, "replay", *bundles(place))
    lines = done.stdout.splitlines()
    assert done.returncode == 1 and len(lines) == len(PROGRAMS), done.stderr
    assert all(line.startswith("does not show 0/1") for line in lines)


@needs_confinement
@pytest.mark.long
@pytest.mark.parametrize(
    "command",
    [
        ("replay", "--times", "2"),
        ("bisect",),
        ("reduce", "--budget", "20s", "--jobs", "2"),
        ("ci", "replay", "--expect", "fixed", "--output", "../ci"),
    ],
    ids=lambda command: command[0],
)
def test_every_command_survives_them(place: Path, user: str, command: tuple[str, ...]) -> None:
    done = run(place, user, *command, *bundles(place))
    assert done.returncode in (0, 1), done.stderr
    for bundle in bundles(place) if command[0] != "ci" else ():
        assert sum(str(bundle) in line for line in done.stdout.splitlines()) == 1


@needs_confinement
@pytest.mark.long
def test_run_survives_each(place: Path, user: str) -> None:
    for bundle in bundles(place):
        done = run(place, user, "run", bundle / "case.json", "--oracles", "crash,inconsistency,internal-error")
        assert done.returncode == 0, done.stdout + done.stderr


@needs_confinement
@pytest.mark.long
def test_a_campaign_takes_them_as_its_corpus(place: Path, user: str) -> None:
    corpus = place / "given" / "corpus"
    corpus.mkdir(parents=True)
    for bundle in bundles(place):
        stored = read_case(bundle / "case.json")
        write_json(corpus / f"{stored.case.id}.json", stored.to_json())
    for path in (place / "given", corpus, *corpus.iterdir()):
        path.chmod(0o777)
    out = place / "campaign"
    options = ["--seeds", "none", "--iterations", 30, "--seed", 1, "--jobs", 1, "--ui", "none", "--coverage", "none"]
    done = run(place, user, "fuzz", "--corpus", place / "given", *map(str, options), "--out", out)
    assert done.returncode == 0, done.stderr
    assert read_json(out / "stats.json")["iterations"] == 30
    assert not [path for path in (out / "findings").iterdir() if "oom" in path.name or "crash" in path.name]


class _Filter(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("yes", ctypes.c_uint8),
        ("no", ctypes.c_uint8),
        ("operand", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("size", ctypes.c_uint16), ("filters", ctypes.POINTER(_Filter)))


def refuse_filters() -> None:
    """Have the kernel refuse this process and its children the system call seccomp, as an old kernel does."""
    filters = (_Filter * 4)(
        _Filter(0x20, 0, 0, 0), _Filter(0x15, 0, 1, 317), _Filter(0x06, 0, 0, 0x50026), _Filter(0x06, 0, 0, 0x7FFF0000)
    )
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.byref(_Program(4, filters))) == 0


def where_nothing_confines(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tzerlike", *map(str, arguments)],
        env=environment(),
        preexec_fn=refuse_filters,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.mark.long
def test_without_confinement_bundles_ask_for_a_word(place: Path) -> None:
    bundle = next(path for path in bundles(place) if "flood" in path.name)
    refused = where_nothing_confines("replay", bundle)
    assert refused.returncode == 2 and not refused.stdout
    assert refused.stderr.startswith("tzerlike: cases cannot be confined here") and refused.stderr.count("\n") == 1
    assert "--unconfined" in refused.stderr
    assert where_nothing_confines("replay", "--unconfined", bundle).returncode == 1


@pytest.mark.long
def test_without_confinement_campaigns_go_on_and_say_so(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    options = ["--iterations", "2", "--seed", "1", "--jobs", "1", "--ui", "plain", "--coverage", "none", "--out", out]
    done = where_nothing_confines("fuzz", *options)
    assert done.returncode == 0, done.stderr
    assert "cases are not confined here" in done.stdout
    assert read_json(out / "environment.json")["confinement"].startswith("off")
    (tmp_path / "given").mkdir()
    shutil.copytree(out / "corpus", tmp_path / "given" / "corpus")
    again = [*options[:-1], tmp_path / "again", "--corpus", tmp_path / "given"]
    refused = where_nothing_confines("fuzz", *again)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1) and "--unconfined" in refused.stderr
    assert where_nothing_confines("fuzz", "--unconfined", *again).returncode == 0


@pytest.mark.long
@pytest.mark.parametrize("command", [("bisect",), ("reduce",), ("run",), ("ci", "replay"), ("corpus", "minimize")])
def test_without_confinement_nothing_of_a_stranger_runs(place: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    given: list[str | Path] = [place / "findings"] if command[0] in ("ci", "corpus") else [bundles(place)[0]]
    if command == ("run",):
        given = [bundles(place)[0] / "case.json"]
    elif command[0] == "ci":
        given += ["--output", tmp_path / "out"]
    elif command[0] == "corpus":
        given = [tmp_path]
        stored = bundles(place)[0] / "case.json"
        shutil.copy(stored, tmp_path / f"{read_case(stored).case.id}.json")
    refused = where_nothing_confines(*command, *given)
    assert refused.returncode == 2 and "--unconfined" in refused.stderr, refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.long
def test_doctor_says_whether_cases_are_confined() -> None:
    done = where_nothing_confines("doctor")
    (line,) = [line for line in done.stdout.splitlines() if "confinement" in line]
    assert "the kernel refuses a seccomp filter" in line
