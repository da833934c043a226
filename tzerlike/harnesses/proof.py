"""Regression tests tried before they are written: against the bug, and against a stand-in for a fixed TVM."""

from __future__ import annotations

import importlib.util
import io
import json
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any
from unittest.mock import patch

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Exit, Stage
from tzerlike.core.refused import failed_check
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.issue.pytest_file import TEST_FILE
from tzerlike.findings.repro import replaying
from tzerlike.processes.channel import Channel
from tzerlike.processes.heap import LAYOUTS, stir
from tzerlike.processes.job import Job

_JOB = "try-test"

_MESSAGE = 4096
"""Characters of a message at most."""

_MEMORIES = (LAYOUTS[0], LAYOUTS[-1])
"""Heaps on which fresh memory is as it comes, and filled."""


@dataclass(frozen=True, slots=True)
class Regression:
    """A test, "" where there is none. `cured` is the same one with a stand-in for what a mended TVM does: it passes.

    So does `until`, the test without the statement that is to fail, where that may not be the only one.
    """

    text: str = ""
    cured: str = ""
    until: str = ""


def proved(executor: ForkExecutor, test: Regression, finding: Finding, archive: bytes = b"") -> str:
    """Return the text of a test if it fails of the finding, with fresh memory as it comes and filled, and what is to
    pass passes, each once in a child; else "".

    `archive` is the contents of inputs.npz, which lies next to the test, as case.json does.
    """
    if not test.text:
        return ""
    with _beside_files(executor, finding.case, archive) as tried:
        outcomes = [tried(test.text, layout) for layout in _MEMORIES]
        failed = all(one.fails_of(finding) for one in outcomes)
        others = filter(None, (test.cured, test.until))
        return test.text if failed and all(tried(one, LAYOUTS[0]).passes for one in others) else ""


def shown_by(
    executor: ForkExecutor, finding: Finding, scripts: Sequence[str], archive: bytes = b""
) -> tuple[str, bool]:
    """Return the first script that shows the finding each time; else the last one, or where that never does, one that
    replays the bundle. And whether it shows it each time. See `proved`."""
    failed: list[bool] = []
    with _beside_files(executor, finding.case, archive) as tried:
        for script in scripts:
            failed = [tried(script, layout).fails_of(finding) for layout in _MEMORIES]
            if all(failed):
                return script, True
    return scripts[-1] if any(failed) else replaying(finding.title), False


_CAUGHT = (Stage.COMPILE_DEVICE, Stage.MUTATE, Stage.TEXT)
"""Where scripts catch what is raised, and say so with their status."""


def _error_shown(finding: Finding) -> str:
    """The message of the exception that what shows a finding ends with; "" where it ends in another way."""
    raised = finding.kind == "ice-on-valid" and finding.observation.stage not in _CAUGHT
    return finding.observation.message if raised else ""


_COMPARED = ("AssertionError:", "BrokenKernel:", "SystemExit:")
"""What a script raises that has looked at what is computed."""

_AT_A_LOSS = (
    *("NotImplementedError:", "AttributeError:", "NameError:", "UnboundLocalError:", "KeyError:", "RecursionError:"),
    *("ImportError:", "SyntaxError:"),
)
"""What a script raises that meets what it does not know, such as a kernel that its emulator cannot run."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a script came to, and the message of the exception that it ended with, "" where it died; `spent` where it
    died because it took all of its time or memory."""

    passes: bool = False
    raised: str = ""
    spent: bool = False

    def fails_of(self, finding: Finding) -> bool:
        """Whether it fails as the finding has it fail: of that exception, but for what depends on the program; where
        something is computed or timed, of what says that it is wrong; of other wrong code, of whatever does not say
        that the script itself is at a loss."""
        if self.passes:
            return False
        if message := _error_shown(finding):
            return failed_check(self.raised) == failed_check(message)
        if finding.kind not in ("wrong-code", "slow-code"):
            return True
        results = finding.observation.results
        if finding.kind == "slow-code" or (results and results.blame and results.blamed.difference):
            return self.raised.startswith(_COMPARED) if self.raised else not self.spent
        return not self.raised.startswith(_AT_A_LOSS)


@contextmanager
def _beside_files(executor: ForkExecutor, case: Case, archive: bytes) -> Iterator[Callable[[str, int], _Outcome]]:
    """A function that runs a script in a child, next to the files of a bundle."""
    with tempfile.TemporaryDirectory(prefix="tzerlike-") as directory:
        path = Path(directory) / TEST_FILE
        path.with_name("case.json").write_text(json.dumps({"case": case.to_json()}))
        path.with_name("inputs.npz").write_bytes(archive)

        def tried(text: str, layout: int) -> _Outcome:
            path.write_text(text)
            item = {"path": str(path), "layout": layout}
            records, death = executor.call(_JOB, item, executor.limits.relaxed(3))
            spent = death is not None and death.exit in (Exit.TIMEOUT, Exit.OOM)
            return _Outcome(**records[0]) if records else _Outcome(spent=spent)

        yield tried


def _try(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    """Run a file and the tests in it, and lay down that they pass, or what is raised."""
    channel.enter_stage(Stage.RUN)
    stir(item["layout"])
    sys.dont_write_bytecode = True
    if importlib.util.find_spec("pytest") is None:
        # Tests end with tvm.testing.main(), whose module takes pytest; who has the wheel alone has none.
        sys.modules["tvm.testing"] = ModuleType("tvm.testing")
    signal.setitimer(signal.ITIMER_PROF, seconds)
    spec = importlib.util.spec_from_file_location("test_regression", item["path"])
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    try:
        # Scripts set limits, which confinement refuses: the child has its own.
        with redirect_stdout(io.StringIO()), patch.object(resource, "setrlimit"):
            with _unless_zero():
                spec.loader.exec_module(module)
            for name in dir(module):
                if name.startswith("test_"):
                    getattr(module, name)()
        channel.add_result({"passes": True})
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it is that a test fails of: pytest's own are no Exception
        channel.add_result({"raised": f"{type(error).__name__}: {error}"[:_MESSAGE]})
    signal.setitimer(signal.ITIMER_PROF, 0)


@contextmanager
def _unless_zero() -> Iterator[None]:
    """Let a script end itself with status 0."""
    try:
        yield
    except SystemExit as end:
        if end.code:
            raise


JOBS: Mapping[str, Job] = MappingProxyType({_JOB: _try})
