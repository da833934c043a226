"""An internal error is told with the fewest passes that show it, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tzerlike.core.case import Case, ContextConfig, parse_sequence
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.findings.bundles.shorten import MOST_PASSES, is_short, shortened
from tzerlike.passes.tilelang import tile_pipeline


def finding(case: Case, what: str = "a check", kind: str = "ice-on-valid") -> Finding:
    return Finding(kind, (what,), case, Observation(Exit.REJECTED, Stage.BUILD))


def judge(shows: Callable[[list[str]], str]) -> Callable[[Case], list[Finding]]:
    """A compiler that fails with `shows(names of the passes)`, or not where that is empty."""

    def run(case: Case) -> list[Finding]:
        what = shows([spec.name for spec in case.passes])
        return [finding(case, what)] if what else []

    return run


def case(sequence: str, pipeline: str = "default") -> Case:
    return Case("{}", parse_sequence(sequence), ContextConfig(pipeline=pipeline))


def test_the_program_alone_is_the_shortest_story_whatever_it_says() -> None:
    short = shortened(finding(case("a.A; a.B; a.C")), judge(lambda names: "a check" if names else "another"))
    assert short is not None
    assert (short.case.passes, short.parts) == ((), ("another",))


def test_only_the_passes_that_matter_stay() -> None:
    short = shortened(
        finding(case("a.A; a.B; a.C; a.D; a.B")),
        judge(lambda names: "a check" if "a.B" in names and "a.D" in names else ""),
    )
    assert short is not None
    assert [spec.name for spec in short.case.passes] == ["a.B", "a.D"]


def test_another_failure_is_another_story() -> None:
    short = shortened(
        finding(case("a.A; a.B")),
        judge(lambda names: "a check" if names == ["a.A", "a.B"] else "another" if names else ""),
    )
    assert short is not None
    assert [spec.name for spec in short.case.passes] == ["a.A", "a.B"]


def test_what_takes_many_passes_is_not_told() -> None:
    names = [f"a.P{n}" for n in range(MOST_PASSES + 1)]
    assert shortened(finding(case("; ".join(names))), judge(lambda seen: "a check" if seen == names else "")) is None


def test_a_pipeline_of_its_own_counts_only_by_its_program() -> None:
    own = finding(case("a.A; a.B", "none"))
    assert shortened(own, judge(lambda names: "a check" if names else "")) is None
    plain = shortened(own, judge(lambda names: "a check"))
    assert plain is not None
    assert (plain.case.passes, plain.case.config.pipeline) == ((), "default")


def test_another_kind_of_finding_is_no_shorter_story() -> None:
    def crashes(case: Case) -> list[Finding]:
        return [finding(case, kind="ice-on-valid" if case.passes else "crash")]

    short = shortened(finding(case("a.A")), crashes)
    assert short is not None
    assert len(short.case.passes) == 1


def test_what_takes_a_long_order_is_told_as_the_program_that_the_order_makes() -> None:
    said = judge(lambda names: "a check" if len(names) == 4 else "")
    program = finding(case(""))
    for long in (case("a.A; a.B; a.C; a.D"), case("a.A; a.B; a.C; a.D", "none")):
        assert shortened(finding(long), said) is None
        assert shortened(finding(long), said, lambda: program) is program
    assert shortened(finding(case("a.A")), judge(lambda names: "a check" if names else ""), lambda: program) != program


DRIVER = replace(case("", "tiles"), passes=tile_pipeline("llvm"))


def without(*indices: int) -> Case:
    """The lowering of TileLang's driver without some of its passes."""
    return replace(DRIVER, passes=tuple(spec for i, spec in enumerate(DRIVER.passes) if i not in indices))


def test_a_kernel_of_tiles_is_shown_by_what_its_driver_runs_where_that_suffices() -> None:
    varied = without(1, 2, 3)
    assert is_short(DRIVER) and not is_short(varied)
    short = shortened(finding(varied), lambda other: [finding(other)] if other == DRIVER else [])
    assert short is not None and short.case == DRIVER


def test_a_lowering_of_tiles_goes_back_to_the_driver_but_for_what_matters() -> None:
    extra = parse_sequence("tl.Simplify{simplify_arguments=true}")
    varied = replace(without(1, 3), passes=extra + without(1, 3).passes + extra)
    missing = DRIVER.passes[3]
    short = shortened(finding(varied), lambda other: [] if missing in other.passes[:5] else [finding(other)])
    assert short is not None and short.case == without(3) and is_short(short.case)


def test_a_lowering_of_tiles_that_is_too_far_from_the_driver_is_not_told() -> None:
    varied = without(*range(MOST_PASSES + 1))
    program = finding(case(""))
    judge_this = judge_only(varied)
    assert shortened(finding(varied), judge_this) is None
    assert shortened(finding(varied), judge_this, lambda: program) is program


def test_few_lowerings_of_tiles_are_spent_on_going_back() -> None:
    tried: list[Case] = []

    def stubborn(other: Case) -> list[Finding]:
        tried.append(other)
        return []

    assert shortened(finding(without(*range(20))), stubborn) is None
    assert 2 < len(tried) <= 9, "the driver's own and eight more"


def judge_only(this: Case) -> Callable[[Case], list[Finding]]:
    """A compiler that fails on one case."""
    return lambda other: [finding(other)] if other == this else []
