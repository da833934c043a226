"""Reports of fabricated findings: what a reader is told, and how much of it."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any

import numpy
import pytest

from tests.subjects import OFF, subject, wrong
from tzerlike.core.case import Case, ContextConfig, PassSpec
from tzerlike.core.finding import FIRST_TIER, Signed
from tzerlike.core.observation import ILL_FORMED, LEFTOVER, NOT_KEPT, Exit, Observation, Offence, Stage
from tzerlike.core.results import Rejection, Results, Timing
from tzerlike.findings.issue.headline import headline
from tzerlike.findings.issue.markdown import report
from tzerlike.findings.issue.paste import self_contained
from tzerlike.findings.issue.subject import DTYPES_SHOWN, OPERATORS_SHOWN, TYPES_SHOWN
from tzerlike.findings.repro import ALWAYS_ZERO, replaying
from tzerlike.systems.tvm_api import dump_ir, module_of, parse_script


def test_a_hang_is_called_one_and_its_script_comes_to_an_end() -> None:
    seen = Observation(Exit.TIMEOUT, Stage.BUILD, "does not end within 60 s of processor time, with all loops small")
    told = replace(subject("hang", seen), repro='"""x"""\n')
    assert headline(told) == "[Bug][TIR] Code generation hangs"
    large = replace(told, script="for i in range(134217728):\n    pass\n")
    assert headline(large) == "[Bug][TIR] Code generation hangs on an extent of 134217728"
    once = replace(told, seen=replace(seen, message="", elapsed=60.2))
    assert headline(once) == "[Bug][TIR] Code generation takes over 60 s"
    assert "exits non-zero if the bug is present. A limit on its CPU time ends it.\n" in report(told)


def test_an_error_is_shown_without_the_module_that_follows_it() -> None:
    said = "ValueError: no\n\nError in pass: _pipeline\nLocation (TVMScript):\nAccess path: <root>\n\n# from tvm"
    seen = Observation(
        Exit.REJECTED, Stage.BUILD, said, "tirx.P", rejection=Rejection("internal error", True, "defined")
    )
    text = report(subject("ice-on-valid", seen))
    assert "```\nValueError: no\n```" in text and "Access path" not in text


def test_no_report_has_an_address() -> None:
    said = "Binding of variable v as ir.Range(0x5555562390e0) conflicts; buffer A (0x5555568ea250) is not declared"
    seen = Observation(Exit.REJECTED, Stage.BUILD, said, "tirx.P", rejection=Rejection("internal-error"))
    text = report(subject("ice-on-valid", seen))
    assert "v as ir.Range(...) conflicts; buffer A is not declared" in text
    assert "0x" not in text


def test_of_a_cuda_compiler_the_first_error_is_shown_without_notes_on_headers() -> None:
    log = (
        'SourceRefused: the CUDA compiler says error: no operator - for f\nk.cu(2): error: no operator "-" for f\n'
        "    a - b\n      ^\n/opt/x/cuda_bf16.h(5081): note #3322-D: no\n  f\n\n1 error detected in the compilation\n"
    )
    seen = Observation(Exit.REJECTED, Stage.COMPILE_DEVICE, log, rejection=Rejection("internal-error"))
    text = report(subject("ice-on-valid", seen))
    assert '```\nk.cu(2): error: no operator "-" for f\n    a - b\n      ^\n```' in text
    two = replace(seen, message=log.replace("/opt/x/cuda_bf16.h(5081): note #3322-D: no", "k.cu(3): error: another"))
    assert "another" not in report(subject("ice-on-valid", two))


@pytest.mark.parametrize(
    ("support", "words"),
    [("defined", "interpreter of TIR"), ("builds", "it compiles without optimizations (LLVM level 0")],
)
def test_an_internal_error_says_why_the_program_is_valid(support: str, words: str) -> None:
    seen = Observation(
        Exit.REJECTED,
        Stage.BUILD,
        message="InternalError: Check failed: a == b\n" + "script line\n" * 300,
        pass_name="tirx.StorageRewrite",
        rejection=Rejection("internal-error", True, support),
    )
    told = subject("ice-on-valid", seen)
    text = report(told)
    assert headline(told) == "[Bug][TIR] StorageRewrite fails: Check failed: a == b"
    assert words in text
    assert "The pass `tirx.StorageRewrite`, in the default pipeline, raises:" in text
    assert "more lines)" in text
    assert len(text.splitlines()) < 60, "a message that quotes a whole script is cut"


@pytest.mark.parametrize(
    ("target", "words"), [("llvm", ", target llvm"), ('{"kind": "cuda", "arch": "sm_80"}', ", target cuda sm_80")]
)
def test_the_target_stands_beside_the_versions(target: str, words: str) -> None:
    told = subject("crash", Observation(Exit.CRASH, Stage.BUILD, "SIGSEGV", "tirx.FlattenBuffer", 11))
    assert words in report(replace(told, case=replace(told.case, target=target)))


def test_who_broke_what_the_failing_pass_was_given_is_named_first() -> None:
    origin = Offence("types", "s_tir.CompactBufferAllocation", "buffer", "a buffer laid out by int32x8")
    seen = Observation(Exit.CRASH, Stage.BUILD, "SIGSEGV", "tirx.FlattenBuffer", 11, origin=origin)
    text = report(subject("crash", seen))
    assert text.startswith("# [Bug][TIR] CompactBufferAllocation leaves a buffer sized by int32x8\n")
    assert "`tirx.FlattenBuffer`, in the default pipeline, crashes: SIGSEGV." in text
    assert "The cause is `s_tir.CompactBufferAllocation`: its output is ill-typed: a buffer" in text
    left = replace(origin, check=LEFTOVER, where="T.Cast(...)")
    assert "its output still has what that pass should remove: `T.Cast(...)`." in report(
        subject("ice-on-valid", replace(seen, exit=Exit.REJECTED, origin=left))
    )
    made = replace(seen, exit=Exit.REJECTED, origin=replace(origin, check=ILL_FORMED, where=""))
    text = report(subject("ice-on-valid", replace(made, rejection=Rejection("internal-error", True, "defined"))))
    assert "The cause is `s_tir.CompactBufferAllocation`: its output is ill-formed." in text
    assert "TVM's verifiers accept it, and an interpreter" in text


def test_what_comes_of_ill_typed_ir_is_told() -> None:
    offence = Offence("types", "s_tir.CompactBufferAllocation", "buffer", "a buffer laid out by int32x8")
    seen = Observation(Exit.REJECTED, Stage.BUILD, "InternalError: lanes", "tirx.StorageRewrite", offences=(offence,))
    of_types = replace(subject("invalid-ir", seen), finding=Signed("invalid-ir", ("ill-typed", "C", "buffer")))
    assert "Later in the same compilation, `tirx.StorageRewrite` raises:\n\n```\nInternalError: lanes\n```" in report(
        of_types
    )
    compiled = replace(of_types, seen=replace(seen, exit=Exit.OK, stage=Stage.DONE, message=""))
    assert "Later in the same" not in report(compiled)


def test_who_did_not_keep_what_a_later_pass_goes_by_is_named_with_the_reason() -> None:
    origin = Offence(NOT_KEPT, "s_tir.P", "extent", "t of shape (2147483647)")
    seen = Observation(Exit.REJECTED, Stage.BUILD, "InternalError: no", "tirx.Q", origin=origin)
    text = report(subject("ice-on-valid", seen))
    assert "P leaves IR that Q fails on: t of shape (2147483647)" in text
    assert "`s_tir.P`: it leaves `t of shape (2147483647)`. Without that pass there is no failure." in text


def test_a_crash_names_the_signal_and_drops_the_warnings_before_it() -> None:
    seen = Observation(
        Exit.CRASH, Stage.BUILD, message="SIGSEGV [12:00:00] file.cc: Warning: Unknown pragma", signal=11
    )
    assert headline(subject("crash", seen)) == "[Bug][TIR] Code generation crashes (SIGSEGV)"
    seen = replace(seen, message="SIGABRT   what():  Check failed: a (1 vs. 2)", signal=6)
    assert "SIGABRT: Check failed: a (1 vs. 2)" in report(subject("crash", seen))
    seen = Observation(Exit.CRASH, Stage.MUTATE, message="SIGSEGV in Schedule.reindex", signal=11, pass_name="blocks")
    told = report(subject("crash", seen, ("mutate", "Schedule.reindex", "SIGSEGV")))
    assert told.startswith("# [Bug][TIR] Schedule.reindex crashes (SIGSEGV)")
    assert "`Schedule.reindex` crashes: SIGSEGV." in told


def test_speed_has_no_test_and_shows_the_program() -> None:
    timing = Timing((1e-6, 1e-6), (3e-6, 3e-6), 1.05)
    seen = Observation(Exit.OK, Stage.DONE, results=Results("defined", timing=timing, guilty="tirx.Slow"))
    text = report(subject("slow-code", seen))
    assert "1.0 us without the pass `tirx.Slow`, 3.0 us with it, 3 times as long (noise alone: 1.05 times)" in text
    assert "Run the attached `repro.py`" in text
    assert "pytest" not in text
    assert "A[0] = 1" in text


def test_long_programs_stay_in_their_files() -> None:
    seen = Observation(Exit.TIMEOUT, Stage.BUILD, elapsed=9.2)
    test = "def test_x():\n" + "    pass\n" * 300
    told = replace(subject("hang", seen, test=test), script="x = 1\n" * 400)
    text = report(told)
    assert "<details><summary>test_regression.py</summary>" in text
    attached = report(replace(told, test=test * 9))
    assert "With the attached `test_regression.py`, run" in attached
    assert len(attached.splitlines()) < 40


def test_a_test_that_reads_files_says_which() -> None:
    seen = Observation(Exit.CRASH, Stage.BUILD, message="SIGSEGV", signal=11)
    text = report(subject("crash", seen, test='x = load(with_name("case.json"), __file__)\n'))
    assert "With the attached `test_regression.py` with `case.json` beside it, run" in text
    assert "A[0] = 1" in text, "the test has no program to read, so the report shows it"


def test_what_does_not_always_show_is_no_promise() -> None:
    told = subject("wrong-code", wrong(), test="def test_x(): pass")
    assert "it fails until the bug is fixed." in report(told)
    assert "it fails when the bug shows, not in every run." in report(replace(told, same=1))


def test_a_reduced_program_says_what_it_was() -> None:
    told = replace(subject("wrong-code", wrong(), test="def test_x(): pass"), original_lines=80)
    assert "The program was reduced from 80 lines to 3." in report(told)
    assert "With the attached `test_regression.py`" in report(replace(told, test="x = 1\n" * 999))
    for_a_gpu = replace(told, test="log = nvrtc_log(source)\n")
    assert "It needs tvm, numpy and NVRTC (CUDA's, or NVIDIA's packages for pip); it fails" in report(for_a_gpu)
    assert "It needs tvm, numpy and a CUDA compiler" in report(replace(told, test="nvcc.compile_cuda(source)\n"))


@pytest.mark.parametrize(
    ("repro", "words"),
    [
        ("import tvm\n", "`python repro.py` (it needs only tvm and numpy); it exits non-zero if the bug is present."),
        (replaying("x"), "attached `repro.py` (it needs tzerlike); it exits non-zero if the bug is present."),
        (f'"""It takes a GPU, {ALWAYS_ZERO}."""', "always exits 0, because the bug only shows on a GPU."),
    ],
)
def test_a_report_says_what_its_repro_takes_and_how_it_ends(repro: str, words: str) -> None:
    assert words in report(replace(subject("wrong-code", wrong()), repro=repro))


LONG = "InternalError: Check failed: (a.b) is false: Binding of variable v4 as ir.Range(0x555556780ab0) conflicts " * 3


OF_EACH_KIND = {
    "crash": Observation(Exit.CRASH, Stage.PASSES, "SIGABRT what(): " + LONG, "tirx.StorageRewrite", 6),
    "hang": Observation(Exit.TIMEOUT, Stage.BUILD, "", "tirx.UnrollLoop"),
    "oom": Observation(Exit.OOM, Stage.BUILD, "", "tirx.UnrollLoop"),
    "ice-on-valid": Observation(
        Exit.REJECTED, Stage.BUILD, LONG, "tirx.UnrollLoop", rejection=Rejection("internal-error", True, "builds")
    ),
    "wrong-code": wrong(
        "optimised",
        replace(OFF, dtype="float32", got="7.320790653888102e+16", expected="252.0", bound="8.238489003044758e-07"),
    ),
    "slow-code": Observation(
        Exit.OK,
        Stage.DONE,
        results=Results("defined", timing=Timing((1e-6,), (3e-6,), 1.05), guilty="s_tir.PlanAndUpdateBufferAllocation"),
    ),
}


@pytest.mark.parametrize("kind", OF_EACH_KIND)
def test_a_report_of_each_kind_reads_like_an_issue_of_tvm(kind: str) -> None:
    inputs = "A = [1, 2]" if kind == "wrong-code" else ""
    told = replace(subject(kind, OF_EACH_KIND[kind]), inputs=inputs, repro="import tvm\n", original_lines=4)
    text = report(replace(told, case=Case("{}")))
    first, _, rest = text.partition("\n")
    assert len(first.removeprefix("# ")) <= 80, first
    assert rest.startswith("\n```python\nfrom tvm.script import tirx as T\n\n@T.prim_func"), (
        "the smallest program comes first"
    )
    assert text.count("A[0] = 1") == 1
    sections = ["Expected behavior", "Actual behavior", "Environment", "Steps to reproduce", "Triage"]
    assert re.findall(r"^### (.*)$", text, re.MULTILINE) == sections
    assert "* needs-triage" in text
    assert "import tvm" in text, "whoever has the issue alone can run it"
    assert not re.search(
        r"\d\.\d{9}|0x[0-9a-f]{8}", first + (rest if kind != "ice-on-valid" and kind != "crash" else "")
    )
    assert "PlanAndUpdateBufferAllocationLocation, " not in text, "passes of the baseline build are counted"
    assert "was reduced" not in text, "from 4 lines to 3"
    assert (inputs in text) or not inputs


def test_a_crash_of_a_pass_on_what_it_does_not_take_says_so() -> None:
    blocks = parse_script("""
@T.prim_func(s_tir=True)
def main(A: T.Buffer((1,), "int32")):
    with T.sblock("b"):
        T.writes(A[0])
        A[0] = 1
""")
    crash = Observation(Exit.CRASH, Stage.PASSES, "SIGSEGV", "tirx.NarrowDataType", 11)
    case = Case(dump_ir(module_of(blocks)), (PassSpec("tirx.NarrowDataType"),))
    said = "`tirx.NarrowDataType` is not made for this program (its documentation: run after FlattenBuffer), so an"
    assert said in report(replace(subject("crash", crash), case=case))
    in_order = replace(case, passes=(PassSpec("tirx.Simplify"),))
    assert "is not made for" not in report(replace(subject("crash", crash), case=in_order))


def test_wrong_numbers_are_rounded_as_long_as_they_differ() -> None:
    text = report(subject("wrong-code", OF_EACH_KIND["wrong-code"]))
    assert "B[0, 2] is 7.32079e+16, not 252.0" in text
    assert "to within 8.2e-07 (rounding)" in text
    close = replace(OFF, dtype="float64", got="1.0000000000000002", expected="1.0000000000000004")
    assert "is 1.0000000000000002, not 1.0000000000000004" in report(subject("wrong-code", wrong("both", close)))


def test_a_script_has_what_it_reads_inside_where_a_reader_has_the_issue_alone() -> None:
    archive = io.BytesIO()
    numpy.savez(archive, argument0=numpy.arange(3))
    text = "import pathlib\nimport sys\n\nimport numpy as np\n\n"
    read = 'A = np.load(pathlib.Path(__file__).with_name("inputs.npz"))\n'
    scope: dict[str, object] = {}
    whole = self_contained(text + read + 'B = A["argument0"].tolist()\n', {"inputs.npz": archive.getvalue()})
    exec(whole, scope)
    assert scope["B"] == [0, 1, 2]
    assert "pathlib" not in whole
    assert self_contained(text + read, {}) == ""
    told = replace(subject("wrong-code", wrong()), repro=text + read, files={"inputs.npz": archive.getvalue()})
    assert "base64.b64decode" in report(told)
    assert "Run the attached `repro.py` with `inputs.npz` beside it (" in report(replace(told, files={}))


@pytest.mark.parametrize("tier", [0, 1, 2])
def test_no_word_of_ours_is_in_a_report(tier: int) -> None:
    text = report(replace(subject("wrong-code", wrong()), tier=tier, repro="import tvm\n"))
    assert not re.search(r"[Tt]ier \d|odd form|reduced/|report\.md", text)


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (
            "InternalError: LLVM module verification failed with the following errors:\nInvalid operand types",
            "Code generation fails: LLVM's verifier: Invalid operand types",
        ),
        (
            "SourceRefused: the CUDA compiler says error: too many arguments in function call\nk.cu(1): error",
            "CUDA source does not compile: too many arguments in function call",
        ),
        (
            "ValueError: Literal value -65504 below minimum of float8_e4m3fn, here",
            "Code generation fails: Literal below minimum of float8_e4m3fn, here",
        ),
    ],
)
def test_a_title_keeps_what_identifies_a_refusal(refusal: str, words: str) -> None:
    seen = Observation(Exit.REJECTED, Stage.BUILD, refusal, rejection=Rejection("internal-error"))
    told = headline(subject("ice-on-valid", seen))
    assert len(told) <= 80
    assert told == f"[Bug][TIR] {words}"
    assert "SourceRefused" not in report(subject("ice-on-valid", seen))


def test_a_test_that_takes_its_inputs_from_a_file_comes_after_the_program() -> None:
    test = 'ARCHIVE = np.load(pathlib.Path(__file__).with_name("inputs.npz"))\nexpected = ARCHIVE["expected0"]\n'
    told = replace(subject("wrong-code", wrong(), test=test), inputs="A = [1, 2]", files={"inputs.npz": b"x"})
    text = report(told)
    assert text.index("A[0] = 1") < text.index("A = [1, 2]") < text.index("<details><summary>test_regression.py")
    assert text.index("A = [1, 2]") < text.index("### Actual behavior"), "expected values are told with the inputs"


def test_a_program_that_text_does_not_give_back_is_said_to_be_in_the_test() -> None:
    test = "CASE = 1\nmod = tvm.ir.load_json(CASE)\n"
    told = subject("crash", Observation(Exit.CRASH, Stage.BUILD, "SIGSEGV", "tirx.P", 11), test=test)
    assert "TVM does not parse the program it prints, so the test loads it from JSON." in report(told)
    assert "TVM cannot print this program, so the test loads it from JSON." in report(replace(told, script=""))
    listed = replace(told, test="", script="# %0: float32[1] = input\n", original_lines=9)
    assert "In the notation of tzerlike it is:\n\n```\n# %0: float32[1] = input\n```" in report(listed)
    assert "reduced from" not in report(replace(told, script="", original_lines=9))


def test_a_long_line_that_a_parser_points_at_is_cut_with_what_points() -> None:
    said = f"no\nerror: no\n --> <str>:9:9\n 9 |  T.float64({300 * '1'})\n   |  {300 * '^'}"
    seen = Observation(Exit.OK, Stage.TEXT, said, "the parser raises")
    text = report(subject("ice-on-valid", seen, ("roundtrip", "the parser raises", "x")))
    assert f" 9 |  T.float64({88 * '1'} ...\n   |  {98 * '^'} ...\n" in text


def test_closures_are_said_to_be_made_functions_first() -> None:
    test = "def test_x():\n    mod = relax.transform.LambdaLift()(mod)\n"
    told = replace(subject("oom", OF_EACH_KIND["oom"], test=test), tier=FIRST_TIER)
    passes = PassSpec("relax.LambdaLift"), PassSpec("relax.LegalizeOps")
    alone, behind = (replace(told, case=Case("{}", passes[:count], harness="graph")) for count in (1, 2))
    assert "options, behind `LambdaLift`, which closures need, shows it.\n" in report(alone)
    assert "pipeline that TVM ships, behind `LambdaLift`, which closures need.\n" in report(behind)


def test_no_loops_are_told_of_a_program_that_has_none() -> None:
    seen = Observation(Exit.TIMEOUT, Stage.BUILD, "does not end within 60 s of processor time, with all loops small")
    assert "is still running after 60 s of CPU time.\n" in report(subject("hang", seen))


def test_what_takes_all_memory_is_told_with_the_limit() -> None:
    text = report(replace(subject("oom", OF_EACH_KIND["oom"]), memory=2 << 30))
    assert "The pass `tirx.UnrollLoop`, in the default pipeline, needs more than 2 GiB of memory. All" in text
    limited = replace(subject("oom", OF_EACH_KIND["oom"], test="setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))"))
    assert "of memory beside what TVM itself takes; the test limits the process to 6 GiB in all. All " in report(
        replace(limited, memory=2 << 30)
    )


@pytest.mark.parametrize(
    ("script", "options", "said"),
    [
        ("def main():\n    for i in range(4):\n        pass\n", (), True),
        ("def main():\n    for i in T.unroll(4):\n        pass\n", (), False),
        ("def main():\n    for i in range(4):\n        pass\n", (("tirx.UnrollLoop.auto_max_step", 8),), False),
    ],
)
def test_loops_that_nothing_asks_to_unroll_are_told(script: str, options: tuple[Any, ...], said: bool) -> None:
    told = replace(subject("oom", OF_EACH_KIND["oom"]), script=script)
    told = replace(told, case=replace(told.case, config=ContextConfig(options=options)))
    assert ("All loops of the program are serial, and nothing asks to unroll one." in report(told)) == said


def test_the_pipeline_that_a_test_of_a_model_asks_for_is_named() -> None:
    seen = Observation(Exit.REJECTED, Stage.PASSES, "InternalError: Check failed: (a != b) is false:", "FuseOps")
    told = subject("ice-on-valid", seen, test='mod = relax.get_pipeline("zero")(Module)')
    assert "The pass `FuseOps`, in the `zero` pipeline, raises:" in report(told)


def test_a_request_for_too_much_memory_is_told_from_memory_that_is_used_up() -> None:
    refused = Observation(Exit.REJECTED, Stage.BUILD, "InternalError: std::bad_alloc", "tirx.UnrollLoop")
    assert "\nMemory does not run out: a single request is for more than the machine has.\n" in report(
        subject("ice-on-valid", refused)
    )
    other = replace(refused, message="InternalError: no")
    assert "Memory" not in report(subject("ice-on-valid", other))


def test_what_a_pass_leaves_is_told_in_words() -> None:
    where = "buffer_dim_align of b, which meant A.v0 and means nothing"
    origin = Offence(NOT_KEPT, "s_tir.P", "meaning", where)
    seen = Observation(Exit.REJECTED, Stage.BUILD, "InternalError: no", "tirx.Q", origin=origin)
    text = report(subject("ice-on-valid", seen))
    assert text.startswith("# [Bug][TIR] P leaves a stale buffer_dim_align\n")
    assert "it leaves `buffer_dim_align of the block b, whose index no longer stands for A.v0`." in text
    undeclared = replace(seen, origin=replace(origin, where=" does not declare S"))
    assert "P leaves IR that Q fails on: a block that does not declare S" in report(subject("ice-on-valid", undeclared))


CALLS = "def test_it():\n    A = tirx.decl_buffer([4])\n    Module = tvm.IRModule({'main': A})\n"


def test_a_program_made_by_calls_is_shown_as_tvm_prints_it_too() -> None:
    told = subject("crash", Observation(Exit.CRASH, Stage.BUILD, "SIGSEGV", "tirx.P", 11), test=CALLS)
    text = report(told)
    assert text.index("tirx.decl_buffer") < text.index("TVM prints this program as below") < text.index("A[0] = 1")
    assert "builds it by calls" not in text, "the test above is it"
    assert "TVM prints" not in report(replace(told, script="")) and "attached" not in report(replace(told, script=""))
    long = report(replace(told, test="x = 1\n" * 200 + CALLS))
    assert long.index("A[0] = 1") < long.index("tirx.decl_buffer")
    assert "which does not give the program back; the test builds it by calls." in long


@pytest.mark.parametrize(
    ("shown", "sentence"),
    [
        ({"same": ["float16", "bfloat16"], "nothing": ["float32", "float64"]},
         "It shows in float16 and bfloat16 as well, and not in float32 or float64."),
        ({"same": ["int8"], "nothing": []}, "It shows in int8 as well."),
        ({"same": [], "nothing": ["uint8"]}, "It does not show in uint8."),
        ({"same": ["<b>"], "nothing": "int8"}, ""),
        ([], ""),
    ],
)  # fmt: skip
def test_it_is_said_in_which_other_dtypes_it_shows(shown: object, sentence: str) -> None:
    told = replace(subject("oom", OF_EACH_KIND["oom"]), held={DTYPES_SHOWN: shown})
    assert (sentence in report(told)) if sentence else (" show" not in report(told).partition("### Actual")[2])


def test_it_is_said_which_other_operators_show_it() -> None:
    held = {DTYPES_SHOWN: {"same": [], "nothing": ["int8"]}, OPERATORS_SHOWN: ["sinh", "nn.gelu", "<b>"]}
    told = replace(subject("oom", OF_EACH_KIND["oom"]), held=held)
    said = "It does not show in int8. It shows with `sinh` and `nn.gelu` instead of the operator, too."
    assert said in report(told)


def test_it_is_said_what_a_pass_makes_of_the_type_of_main() -> None:
    types = ["R.Tensor((n,))", "R.Tensor(ndim=1)\n```"]
    offence = Offence("signatures", "relax.P", "the type of main", "")
    seen = Observation(Exit.OK, Stage.DONE, offences=(offence,))
    told = replace(subject("invalid-ir", seen, ("model-types", "P")), held={TYPES_SHOWN: types})
    assert "changes it.\n\n````\nbefore: R.Tensor((n,))\nafter:  R.Tensor(ndim=1)\\n```" in report(told)
    for strange in ([], ["one"], "ab"):
        assert "before:" not in report(replace(told, held={TYPES_SHOWN: strange}))
