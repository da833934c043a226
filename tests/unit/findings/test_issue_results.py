"""What reports say of a build that did something wrong, and of who is to blame."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.subjects import OFF, subject, wrong
from tzerlike.core.case import Case, PassSpec
from tzerlike.core.finding import SECOND_TIER
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import ARBITRARY, Ending, Ran, Results
from tzerlike.findings.issue.headline import headline
from tzerlike.findings.issue.markdown import report
from tzerlike.findings.issue.subject import Guilt


def test_wrong_code_tells_the_element_what_it_is_and_what_it_should_be() -> None:
    told = subject("wrong-code", wrong("optimised"), test='def test_x():\n    """"""\n')
    text = report(told)
    assert headline(told) == "[Bug][TIR] Wrong code: B[0, 2] is 8, not 7"
    assert "`B[0, 2]` is 7." in text
    assert "B[0, 2] is 8, not 7; 3 of 12 elements differ. Built without optimization (LLVM level 0" in text
    assert "is right." in text
    assert "def test_x" in text
    assert "A[0] = 1" not in text, "the program is in the test; it is not shown twice"
    assert "TVM 0.27.0, LLVM 22, Python 3.11.7" in text
    assert "12345" not in text, "what only tzerlike knows about is no matter for TVM's maintainers"


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            "divergent-barrier\n2 of 16 threads come to a barrier: for threadIdx.x from 0, 16 times",
            "has a divergent barrier: 2 of 16 threads come to a barrier. This",
        ),
        (
            "race\nread and written by different iterations: B[0] = A[tx]",
            "has a data race: read and written by different threads: B[0] = A[tx]. This",
        ),
    ],
)
def test_what_a_kernel_may_not_do_is_said_of_its_threads(message: str, words: str) -> None:
    results = Results("defined", optimised=Ran(Ending.UNDEFINED, message))
    told = subject("wrong-code", Observation(Exit.OK, Stage.DONE, results=results))
    cuda = replace(told, case=replace(told.case, target='{"kind": "cuda", "arch": "sm_90"}'))
    assert f"The lowered kernel {words}" in report(cuda)


def test_what_only_the_baseline_build_shows_is_said_to_be_in_it() -> None:
    seen = Observation(Exit.CRASH, Stage.BUILD_BASELINE, "SIGSEGV", "tirx.P", 11)
    plain = subject("crash", seen)
    told = replace(plain, case=replace(plain.case, passes=()), tier=SECOND_TIER)
    text = report(told)
    assert "The pass `tirx.P`, in the baseline build (LLVM level 0" in text
    assert (
        "\nOnly seen in the baseline build: LLVM level 0, loops not vectorized, without 15 optional passes.\n" in text
    )


def test_what_was_not_written_is_said_of_several_elements_alone() -> None:
    for kept, count, said in ((3, 3, True), (2, 3, False), (1, 1, False)):
        off = replace(OFF, nature="unwritten", kept=kept, count=count)
        assert ("also its value before" in report(subject("wrong-code", wrong(difference=off)))) == said


def test_a_value_that_depends_on_fresh_memory_is_none_that_a_report_quotes() -> None:
    seen = wrong()
    assert seen.results is not None
    stray = replace(seen.results.optimised, message=ARBITRARY)
    told = subject("wrong-code", replace(seen, results=replace(seen.results, baseline=stray, optimised=stray)))
    assert headline(told) == "[Bug][TIR] Wrong code: B[0, 2] is arbitrary, not 7"
    assert "B[0, 2] is arbitrary, not 7: it is another value where fresh memory holds something else." in report(told)


def test_wrong_code_that_dies_or_strays_says_so() -> None:
    assert headline(subject("wrong-code", wrong("both", None, Ending.DIED))).endswith(
        "the compiled function dies (SIGFPE)"
    )
    late = wrong("both", None, Ending.DIED)
    assert late.results is not None
    late = replace(late, results=late.results.died(False, "over the time limit"))
    assert headline(subject("wrong-code", late)).endswith("the compiled function does not end")
    outside = replace(OFF, nature="outside", expected="", got="", bound="")
    told = report(subject("wrong-code", wrong("both", outside)))
    assert "The compiled function writes outside of buffer B." in told
    assert "writes only to its own buffers" in told
    assert "to within" not in told


def test_a_bound_is_told_where_there_is_one() -> None:
    assert "is 7, to within 0.5 (rounding)." in report(
        subject("wrong-code", wrong("both", replace(OFF, bound="0.5", dtype="float32")))
    )


def test_guilt_is_told_with_its_diff() -> None:
    told = replace(subject("wrong-code", wrong()), guilt=Guilt("tirx.StorageRewrite", "B is wrong", "-a\n+b"))
    text = report(told)
    assert headline(told).startswith("[Bug][TIR] Wrong code (StorageRewrite):")
    assert "### Where it goes wrong\n\n`tirx.StorageRewrite`: B is wrong\n" in text
    assert "```diff\n-a\n+b\n```" in text
    long = replace(told, guilt=Guilt("p", "", "\n".join(f"+{i}" for i in range(500))))
    assert "... (440 more lines)" in report(long)


def test_what_misled_a_pass_is_named_with_what_it_is_wrong_about() -> None:
    found = wrong()
    assert found.results is not None
    led = replace(found.results, guilty="FlattenBuffer", misled=("sym.iter_map_simplify", "(1 - i) % 2", "i % -2 * -1"))
    words = (
        " The cause is the pass `FlattenBuffer`. Behind that is `sym.iter_map_simplify`, which wrongly turns "
        "`(1 - i) % 2` into `i % -2 * -1`."
    )
    assert words in report(subject("wrong-code", replace(found, results=led)))
    assert "Behind that" not in report(subject("wrong-code", replace(found, results=replace(led, misled=()))))


def test_what_is_undefined_behind_the_guilty_pass_is_said() -> None:
    found = wrong()
    assert found.results is not None
    for deed, words in (
        (
            ("integer-overflow", "+tirx.DeclBuffer"),
            " Its output overflows an integer on these inputs, its input does not.",
        ),
        (("value",), ""),
        ((), ""),
    ):
        blamed = replace(found.results, guilty="FlattenBuffer", deed=deed)
        text = report(subject("wrong-code", replace(found, results=blamed)))
        assert f"The cause is the pass `FlattenBuffer`.{words}\n" in text


def test_that_nobody_is_known_to_be_guilty_is_said() -> None:
    found = wrong("optimised")
    assert found.results is not None
    told = subject("wrong-code", replace(found, results=replace(found.results, guilty="default pipeline")))
    assert headline(told) == "[Bug][TIR] Wrong code: B[0, 2] is 8, not 7"
    assert "which one is not known." in report(told)


def test_the_other_build_is_called_right_only_where_it_ran() -> None:
    seen = wrong("optimised")
    assert seen.results is not None
    skipped = replace(seen, results=replace(seen.results, baseline=Ran(Ending.NOT_RUN)))
    assert "is right." in report(subject("wrong-code", seen))
    assert "is right" not in report(subject("wrong-code", skipped))


def test_a_kernel_that_no_gpu_ran_is_said_to_be_interpreted() -> None:
    about = subject("wrong-code", wrong())
    said = "no GPU ran it"
    assert said not in report(about)
    kernel = replace(about, case=replace(about.case, target='{"kind": "cuda", "arch": "sm_90"}'))
    assert said in report(kernel)
    assert about.seen.results is not None
    ran = replace(about.seen, results=replace(about.seen.results, device="cuda"))
    assert said not in report(replace(kernel, seen=ran))


@pytest.mark.parametrize(
    ("message", "told"),
    [("other values: A is 1", True), ("out-of-bounds: index [0, 1]", False), ("block-region: A", False)],
)
def test_the_inputs_are_told_where_they_decide_what_a_schedule_gives(message: str, told: bool) -> None:
    seen = replace(wrong(), stage=Stage.MUTATE, message=message)
    assert ("A = [1, 2]" in report(replace(subject("wrong-code", seen), inputs="A = [1, 2]"))) is told


def test_the_inputs_are_not_told_of_a_kernel_that_breaks_a_rule() -> None:
    seen = wrong("optimised")
    assert seen.results is not None
    broken = replace(seen, results=replace(seen.results, optimised=Ran(Ending.UNDEFINED, "divergent-barrier\nx")))
    assert "A = [1, 2]" in report(replace(subject("wrong-code", seen), inputs="A = [1, 2]"))
    assert "A = [1, 2]" not in report(replace(subject("wrong-code", broken), inputs="A = [1, 2]"))


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        (
            "does not end within 60 s of processor time, where half the extents take 0.05 s",
            "is still running after 60 s of CPU time; with all extents halved it takes 0.05 s.",
        ),
        (
            "does not end, but dies, with extents 4 times less within 6 s of processor time, with all loops small",
            (
                "does not return; with all extents divided by 4 it dies within 6 s of CPU time, although all its loops "
                "are short."
            ),
        ),
        (
            "does not end with extents 4 times smaller within 6 s of processor time, where half the extents take 0.1 s",
            "is still running after 6 s of CPU time, with all extents divided by 4; with half of those it takes 0.1 s.",
        ),
    ],
)
def test_what_does_not_end_is_told_with_what_it_was_compared_to(stored: str, told: str) -> None:
    seen = Observation(Exit.TIMEOUT, Stage.BUILD, stored, "tirx.UnrollLoop")
    assert told in report(replace(subject("hang", seen), script="def main():\n    for i in range(4):\n        pass\n"))


@pytest.mark.parametrize(
    ("passes", "due", "words"),
    [
        ((), "code generation", "so code generation seems to be the cause."),
        (("tirx.LowerTIRx",), "after LowerTIRx", "so code generation seems to be the cause."),
        (("P", "Q", "R"), "code generation", "so code generation seems to be the cause."),
    ],
)
def test_code_generation_is_a_guess_that_names_what_it_takes(passes: tuple[str, ...], due: str, words: str) -> None:
    seen = wrong("optimised")
    assert seen.results is not None
    seen = replace(seen, results=replace(seen.results, guilty="code generation"))
    told = replace(subject("wrong-code", seen), case=Case("{}", tuple(map(PassSpec, passes))))
    assert headline(told).startswith(f"[Bug][TIR] Wrong code ({due}): ")
    assert f"{words}\n" in report(told)
