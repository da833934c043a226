"""Generated regression tests pass where TVM is right; that they fail where it is wrong is shown with the bundles."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from tests.e2e.conftest import ROOT
from tests.puzzles.conftest import served
from tzerlike.core.case import Case, ContextConfig, PassSpec
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import Difference, Ending, Ran, Results
from tzerlike.coverage import NoCoverage
from tzerlike.execution.compare.evidence import evidence_for
from tzerlike.findings.repro import LIMIT, replaying
from tzerlike.harnesses import proof
from tzerlike.harnesses.proof import Regression, proved
from tzerlike.harnesses.tir.regression import pieces_of, regression_test
from tzerlike.harnesses.tir.regression_modules import round_trip_test
from tzerlike.harnesses.tir.regression_schedule import crash_test
from tzerlike.processes.lane import Lane
from tzerlike.systems import tvm_api
from tzerlike.tir.roundtrip import PARSER, UNEQUAL

SMALL = """
@T.prim_func
def main(A: T.Buffer((2, 3), "float32"), np: T.Buffer((2, 3), "bfloat16"), n: T.int32):
    for i, j in T.grid(2, 3):
        np[i, j] = T.Cast("bfloat16", T.exp(A[i, j] * T.float32(0.25)) + T.Cast("float32", n))
"""

LARGE = """
@T.prim_func
def main(A: T.Buffer((40, 40), "int32"), B: T.Buffer((40, 40), "int32")):
    for i, j in T.grid(40, 40):
        B[i, j] = A[i, j] * 2 + i
"""

STRIDED = """
@T.prim_func
def main(A: T.Buffer((3, 4), "int32", strides=(7, 1)), B: T.Buffer((3, 4), "int32", strides=(5, 1))):
    for i, j in T.grid(3, 4):
        B[i, j] = A[i, j] + 1
"""

BACKWARD = STRIDED.replace("strides=(7, 1)", "strides=(1, 3)")

SYMBOLIC = """
n = TypeVar("n")
@T.prim_func
def main(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
    for i in range(n):
        B[i] = A[i] + T.float32(1)
"""


def finding(
    text: str, passes: tuple[PassSpec, ...], config: ContextConfig, nature: str = "value"
) -> tuple[Finding, str]:
    """A finding of wrong code on a program that TVM compiles right, and the program's script."""
    module = tvm_api.module_of(tvm_api.parse_script(text))
    case = Case(tvm_api.dump_ir(module), passes, config)
    difference = Difference(1, "B", "int32", (0,), "1", "0.0", "2", 1, 12, nature)
    results = Results("defined", optimised=Ran(Ending.DIFFERS, "", difference))
    seen = Observation(Exit.OK, Stage.DONE, results=results)
    return Finding("wrong-code", ("optimised",), case, seen), tvm_api.script_of(module)


def written(
    text: str, passes: tuple[PassSpec, ...] = (), config: ContextConfig | None = None, **how: str
) -> tuple[str, bytes]:
    found, script = finding(text, passes, config or ContextConfig(), **how)
    evidence = evidence_for(found.case, found.observation.results)
    test = regression_test(found, Limits(), script, evidence.parameters, evidence.archive)
    return test.text, evidence.archive


@pytest.mark.long
def test_they_pass_where_tvm_is_right(tmp_path: Path) -> None:
    own = ContextConfig(
        opt_level=1,
        options=(("tirx.disable_assert", True),),
        disabled_passes=("tirx.StorageRewrite",),
        pipeline="default",
    )
    made = {
        "small": written(SMALL),
        "large": written(LARGE, (PassSpec("tirx.StmtSimplify"), PassSpec("s_tir.LowerOpaqueBlock")), own),
        "strided": written(STRIDED),
        "backward": written(BACKWARD),
        "outside": written(LARGE, nature="outside"),
        "symbolic": written(SYMBOLIC),
    }
    for name, (test, archive) in made.items():
        directory = tmp_path / name
        directory.mkdir()
        (directory / f"test_{name}.py").write_text(test)
        (directory / "inputs.npz").write_bytes(archive)
    assert "inputs.npz" not in made["small"][0], "few numbers are written out"
    assert "ml_dtypes.bfloat16" in made["small"][0]
    assert 'np.load(pathlib.Path(__file__).with_name("inputs.npz"))' in made["large"][0]
    assert "something was written around" in made["outside"][0]
    assert made["strided"][0].count(".as_strided(np.from_dlpack(") == 2 and "inputs.npz" not in made["strided"][0]
    assert "\n    func(tvm_ffi.from_dlpack(A), tvm_ffi.from_dlpack(B))\n" in made["strided"][0]
    assert "something was written around" in made["backward"][0], "its elements are not in order"
    assert "from typing import TypeVar" in made["symbolic"][0]
    for test, _ in made.values():
        assert "tzerlike" not in test
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout
    # A test that cannot fail is none: with other expectations each of them does.
    for name in ("large", "backward", "outside"):
        archive = tmp_path / name / "inputs.npz"
        with numpy.load(io.BytesIO(archive.read_bytes())) as arrays:
            changed = {key: array + 1 if key == "expected1" else array for key, array in arrays.items()}
        numpy.savez(archive, **changed)
    strided = tmp_path / "strided" / "test_strided.py"
    strided.write_text(strided.read_text().replace("    expected = ", "    expected = 1 + "))
    small = tmp_path / "small" / "test_small.py"
    small.write_text(small.read_text().replace("atol=", "atol=-1 + "))
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert "5 failed, 1 passed" in done.stdout, done.stdout


def test_a_test_of_what_does_not_end_ends() -> None:
    found, script = finding(SMALL, (), ContextConfig())
    late = Results("defined", optimised=Ran(Ending.DIED, "over the time limit"))
    for kind, seen in (
        ("wrong-code", Observation(Exit.OK, Stage.DONE, results=late)),
        ("hang", Observation(Exit.TIMEOUT, Stage.BUILD)),
    ):
        evidence = evidence_for(found.case, late)
        unending = replace(found, kind=kind, observation=seen)
        test = regression_test(unending, Limits(), script, evidence.parameters, evidence.archive).text
        assert test.index("signal.alarm(15)") < test.index("tvm.compile(") < test.index("signal.alarm(0)")
    assert "alarm" not in written(SMALL)[0]


def test_where_an_extent_is_named_annotations_are_parsed_and_not_evaluated() -> None:
    named = pieces_of('@T.prim_func\ndef main(A: T.Buffer((1, "n0", T.max(n0, 2)), "int32")):\n    pass\n')
    assert "from __future__ import annotations" in named.imports
    assert pieces_of('@T.prim_func\ndef main(A: T.Buffer((1, 2), "int32")):\n    pass\n').imports == ()


def refused(message: str = "") -> Finding:
    """A finding that a script or a test shows by raising this, "" for anything."""
    return Finding("ice-on-valid", ("P", "Error"), Case("P"), Observation(Exit.REJECTED, Stage.BUILD, message))


def test_a_test_is_written_down_if_it_fails_and_its_cured_twin_passes() -> None:
    fails, dies, passes = (f"def test_it():\n    {what}\n" for what in ("assert 0", "import os; os.abort()", "pass"))
    beside = "import json, pathlib, numpy\nHERE = pathlib.Path(__file__)\n" + passes.replace(
        "pass",
        'assert json.loads(HERE.with_name("case.json").read_text())["case"]["ir"] == "P"\n'
        '    assert numpy.load(HERE.with_name("inputs.npz"))["argument0"] == 3',
    )
    packed = io.BytesIO()
    numpy.savez(packed, argument0=3)
    with served(Lane.prepare(0, NoCoverage(), jobs=proof.JOBS), Limits()) as executor:

        def kept(text: str, cured: str, raises: str = "") -> bool:
            return proved(executor, Regression(text, cured), refused(raises), packed.getvalue()) == text

        assert kept(fails, passes) and kept(dies, passes) and kept(fails, beside)
        assert not kept(passes, passes) and not kept(fails, fails) and not kept(dies, "1 // 0")
        raises = 'def test_it():\n    raise ValueError("Check failed: a == b (1 vs. 2)")\n'
        assert kept(raises, passes, "ValueError: Check failed: a == b (3 vs. 4)")
        assert not any(kept(one, passes, "ValueError: Check failed: a == c (1 vs. 2)") for one in (raises, fails, dies))
        assert proved(executor, Regression(), refused()) == ""
        # One that goes by what lies in fresh memory may pass tomorrow.
        assert not kept("import numpy\n\n\ndef test_fresh():\n    assert numpy.empty(1 << 20).any()\n", passes)


@pytest.mark.parametrize(
    ("end", "failing"),
    [
        ("pass", False),
        ("sys.exit(0)", False),
        ("sys.exit()", False),
        ("sys.exit(1)", True),
        ("sys.exit('wrong')", True),
        ("1 // 0", True),
        ("os.abort()", True),
        ("sys.exit(pathlib.Path(__file__).with_name('inputs.npz').read_bytes() == b'x')", True),
    ],
)
def test_a_script_fails_by_its_status(capfd: pytest.CaptureFixture[str], end: str, failing: bool) -> None:
    with served(Lane.prepare(0, NoCoverage(), jobs=proof.JOBS), Limits()) as executor:
        script = f"import os, pathlib, sys\nprint('heard')\n{end}\n"
        assert proof.shown_by(executor, refused(), [script], b"x")[1] is failing
    assert "heard" not in capfd.readouterr().out


@pytest.mark.parametrize("stage", [Stage.BUILD, Stage.COMPILE_DEVICE, Stage.MUTATE, Stage.TEXT])
def test_a_script_shows_by_its_status_what_it_catches(stage: Stage) -> None:
    seen = Observation(Exit.REJECTED, stage, "ValueError: Check failed: a == b (1 vs. 2)")
    with served(Lane.prepare(0, NoCoverage(), jobs=proof.JOBS), Limits()) as executor:
        finding = Finding("ice-on-valid", ("P", "ValueError"), Case("P"), seen)
        _, shown = proof.shown_by(executor, finding, ["import sys\nsys.exit(1)\n"])
    assert shown is (stage is not Stage.BUILD), "scripts of a build let the exception through"


LIMITED = f"""
import resource
import signal

SECONDS, MEMORY = 5.0, 2 << 30


{LIMIT}

limit()
"""


@pytest.mark.parametrize(
    ("end", "shows"),
    [("", False), ("raise ValueError('other')", False), ("raise ValueError('Check failed: a == b (3 vs. 4)')", True)],
)
def test_a_script_that_shows_nothing_or_something_else_gives_way_to_a_replay(end: str, shows: bool) -> None:
    finding = refused("ValueError: Check failed: a == b (1 vs. 2)")
    with served(Lane.prepare(0, NoCoverage(), jobs=proof.JOBS), Limits()) as executor:
        script, shown = proof.shown_by(executor, finding, [LIMITED + end])
    assert shown is shows
    assert script == (LIMITED + end if shows else replaying(finding.title))


@pytest.mark.parametrize(
    ("end", "shows"),
    [
        ("assert 2 == 1", True),
        ("class BrokenKernel(Exception): pass\nraise BrokenKernel('a race')", True),
        ("import os; os.abort()", True),
        ("{}['stride']", False),
        ("raise NotImplementedError('warps')", False),
        ("while True: pass", False),
    ],
)
def test_a_wrong_value_is_shown_by_a_comparison(end: str, shows: bool) -> None:
    """What is at a loss, or takes all of its time, does not get there."""
    wrong = Ran(Ending.DIFFERS, "", Difference(0, "A", "int32", (0,), "1", "0", "2", 1, 1, "value"))
    seen = Observation(Exit.OK, Stage.DONE, results=Results("defined", optimised=wrong))
    finding = Finding("wrong-code", ("optimised", "value"), Case("P"), seen)
    with served(Lane.prepare(0, NoCoverage(), jobs=proof.JOBS), Limits(0.3)) as executor:
        assert proof.shown_by(executor, finding, [f"{end}\n"])[1] is shows


def test_a_test_is_tried_where_there_is_no_pytest(tmp_path: Path) -> None:
    """As in an environment that has the wheel and no more."""
    program = """if True:
        import importlib.util, sys
        from tests.puzzles.conftest import served
        found = importlib.util.find_spec
        importlib.util.find_spec = lambda name, *rest: None if name == "pytest" else found(name, *rest)
        for name in [name for name in sys.modules if name.partition(".")[0] in ("pytest", "_pytest")]:
            del sys.modules[name]
        sys.modules["pytest"] = None
        from tzerlike.core.case import Case
        from tzerlike.core.limits import Limits
        from tzerlike.core.finding import Finding
        from tzerlike.core.observation import Exit, Observation, Stage
        from tzerlike.coverage import NoCoverage
        from tzerlike.harnesses import proof
        from tzerlike.processes.lane import Lane
        fails, passes = (f"import tvm.testing\\ndef test_it():\\n    assert {what}\\n" for what in (0, 1))
        finding = Finding("crash", ("P",), Case("P"), Observation(Exit.CRASH, Stage.BUILD))
        with served(Lane.prepare(0, NoCoverage(), jobs=proof.JOBS), Limits()) as executor:
            print(proof.proved(executor, proof.Regression(fails, passes), finding) == fails)
    """
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize("stage", [PARSER, UNEQUAL])
def test_of_a_text_that_does_not_parse_no_more_is_asked(stage: str) -> None:
    """What else is lost on the way would keep the test red when this is mended."""
    seen = Observation(Exit.REJECTED, Stage.TEXT, "why", stage)
    text = round_trip_test(Finding("ice-on-valid", ("roundtrip", stage), Case("P"), seen), "").text
    assert "tvm.script.from_source(Module.script())" in text
    assert ("assert_structural_equal" in text) == (stage == UNEQUAL)


def test_of_the_calls_on_a_schedule_look_ups_without_use_are_left_out() -> None:
    calls = (
        "v1 = sch.get_sblock('a')",
        "v2 = sch.get_loops(v1)",
        "v3 = sch.fuse(v9, v10)",
        'v4 = sch.get_sblock("b")',
        'v5 = sch.cache_read(v4, 0, "global")',
    )
    text = crash_test("Schedule.cache_read", "", calls).text
    assert "def test_schedule_cache_read_crash():" in text
    assert "v1 =" not in text
    assert "v2 =" not in text
    kept = [text.index(call) for call in (calls[2], calls[3], calls[4])]
    assert kept == sorted(kept)


def test_there_is_no_test_of_speed() -> None:
    found, script = finding(LARGE, (), ContextConfig())
    slow = Finding("slow-code", found.parts, found.case, found.observation)
    assert regression_test(slow, Limits(), script).text == ""


def test_many_options_are_no_line_of_their_own_length() -> None:
    names = tuple(f"tirx.NameOfSomePassOrOther{number}" for number in range(12))
    text, _ = written(LARGE, config=ContextConfig(disabled_passes=names))
    start, _, rest = text.partition("with tvm.transform.PassContext(")[2].partition(")")
    assert "\n" in start and all(name in start for name in names) and rest.startswith(":\n")
    assert max(map(len, text.splitlines())) <= 120
    compile(text, "test_regression.py", "exec")
