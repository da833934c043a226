"""Planted wrong analyses, each with the finding that it has to become, and right ones that become none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tzerlike.arith import repro
from tzerlike.arith.batch import minimal, problem_of, scan
from tzerlike.arith.checks import CHECKS, Analysis, Question
from tzerlike.arith.claims import Claim
from tzerlike.arith.finding import found_in
from tzerlike.arith.inspect import Table, run_analysis
from tzerlike.arith.model import Expr, Problem, Variable, boolean, const, walk
from tzerlike.arith.tier import tier_of_problem
from tzerlike.core.finding import FIRST_TIER, Signed
from tzerlike.core.limits import Limits
from tzerlike.processes.channel import Channel

SEED = 3
ITERATIONS = 1500


def rewritten(node: Expr, old: str, new: str) -> Expr:
    return node._replace(op=new if node.op == old else node.op, args=tuple(rewritten(a, old, new) for a in node.args))


def confuses(old: str, new: str, dtype: str = "int32") -> Analysis:
    """A simplifier that takes one operator for another."""

    def ask(question: Question) -> tuple[Claim, ...]:
        root = question.problem.root
        return (Claim(root, "==", rewritten(root, old, new)),)

    return Analysis(lambda p: len(p.roots) == 1 and p.root.dtype == dtype, ask, "")


def operators(problem: Problem) -> list[str]:
    return sorted(node.op for node in walk(problem.root) if node.args)


def off_by_one(question: Question) -> tuple[Claim, ...]:
    root = question.problem.root
    grid = Table.of(question.problem)
    return (Claim(root, "<=", const(grid.grid.evaluate(root).high - 1, "int64")),)


def always_true(question: Question) -> tuple[Claim, ...]:
    return (Claim(question.problem.root, "==", boolean(True)),)


def even(question: Question) -> tuple[Claim, ...]:
    return (Claim(question.problem.root, "==", const(0, "int64"), modulus=2),)


def raises_on_select(question: Question) -> tuple[Claim, ...]:
    from tzerlike.systems import tvm_api

    if any(node.op == "Select" for node in walk(question.problem.root)):
        raise tvm_api.tvm.error.InternalError("Check failed: select 0x1f is odd")
    return ()


def integer(problem: Problem) -> bool:
    return len(problem.roots) == 1 and problem.root.dtype == "int32"


PLANTED: dict[str, tuple[Analysis, str, list[str]]] = {
    "div is floordiv": (confuses("Div", "FloorDiv"), "wrong-code", ["Div"]),
    "floormod is mod": (confuses("FloorMod", "Mod"), "wrong-code", ["FloorMod"]),
    "min is max": (confuses("Min", "Max"), "wrong-code", ["Min"]),
    "sub is add": (confuses("Sub", "Add"), "wrong-code", ["Sub"]),
    "a comparison off by one": (confuses("LT", "LE", "bool"), "wrong-code", ["LT"]),
    "a bound off by one": (Analysis(integer, off_by_one, ""), "wrong-code", []),
    "all is even": (Analysis(integer, even, ""), "wrong-code", []),
    "all is true": (
        Analysis(lambda p: len(p.roots) == 1 and p.root.dtype == "bool", always_true, ""),
        "wrong-code",
        [],
    ),
    "an internal error": (Analysis(integer, raises_on_select, ""), "ice-on-valid", ["Select"]),
}


def suspicions(check: Analysis) -> list[dict[str, Any]]:
    channel = Channel()
    channel.lay_request({})
    scan({"seed": SEED, "worker": 0, "start": 0, "count": ITERATIONS}, channel, 60.0, {"planted": check})
    return [record for record in channel.results() if record["record"] == "suspicion"]


@pytest.mark.parametrize("name", PLANTED)
def test_planted_faults_become_findings(name: str) -> None:
    check, kind, shape = PLANTED[name]
    found = []
    for record in suspicions(check)[:12]:
        reduced = minimal(problem_of(SEED, 0, record["iteration"]), "planted", {"planted": check})
        if reduced is not None:
            finding = found_in("planted", reduced[1], run_analysis(Table.of(reduced[1]), check), check)
            assert finding is not None and finding.kind == kind
            found.append((finding.signature, operators(reduced[1])))
    assert found
    assert shape in [operators for _, operators in found]
    # One fault is one finding, or nearly so.
    assert len({signature for signature, _ in found}) <= 1 + len(found) // 4


RIGHT = {
    "twice not": lambda root: root,
    "min turned": lambda root: turned(root),
}


def turned(node: Expr) -> Expr:
    args = tuple(map(turned, node.args))
    return node._replace(args=args[::-1] if node.op in ("Min", "Max", "Add", "Mul", "EQ", "And") else args)


@pytest.mark.parametrize("name", RIGHT)
def test_right_analyses_are_not_suspected(name: str) -> None:
    def ask(question: Question) -> tuple[Claim, ...]:
        root = question.problem.root
        return (Claim(root, "==", RIGHT[name](root)),)

    assert suspicions(Analysis(lambda p: len(p.roots) == 1, ask, "")) == []


def test_the_same_range_gives_the_same_suspicions() -> None:
    check = PLANTED["div is floordiv"][0]
    assert suspicions(check) == suspicions(check) != []


def test_a_fault_of_a_part_is_blamed_on_the_part() -> None:
    part = confuses("Div", "FloorDiv")
    whole = Analysis(part.applies, part.ask, "", made_of=("part",))
    x = Expr("Var", "int32", (), "x")
    root = Expr("Div", "int32", (x, const(2, "int32")))
    problem = Problem((Variable("x", "int32", (-3, -2, -1)),), (root,))
    reduced = minimal(problem, "whole", {"part": part, "whole": whole})
    assert reduced is not None and reduced[0] == "part"


LYING_ANALYZER = """
import tvm


class Bound:
    min_value, max_value = 0, 5


class Lying(tvm.sym.Analyzer):
    def const_int_bound(self, expr):
        return Bound


tvm.sym.Analyzer = Lying
"""


@pytest.mark.parametrize(("high", "status"), [(6, 1), (5, 0)])
def test_repro_stands_alone_and_says_whether_the_bug_shows(tmp_path: Path, high: int, status: int) -> None:
    x = Expr("Var", "int32", (), "x")
    problem = Problem((Variable("x", "int32", tuple(range(high + 1))),), (x,))
    claimed = Analysis(integer, lambda q: (Claim(q.problem.root, "<=", const(high - 1, "int64")),), "")
    outcome = run_analysis(Table.of(problem), claimed)
    assert outcome.wrong is not None and outcome.wrong.assignment == {"x": high}
    finding = found_in("const_int_bound", problem, outcome, claimed)
    assert finding is not None
    text = repro.analysis_repro_script(finding, "const_int_bound", problem, outcome, Limits())
    (tmp_path / "repro.py").write_text(LYING_ANALYZER + text)
    done = subprocess.run(
        [sys.executable, tmp_path / "repro.py"], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""}
    )
    assert done.returncode == status, done.stderr
    assert "tzerlike" not in text


def test_every_check_has_a_repro_that_runs(tmp_path: Path) -> None:
    """Each check on an easy problem: its source in a repro.py says that nothing is wrong."""
    lines = []
    for name, check in CHECKS.items():
        problem = next(p for p in map(easy, range(5)) if check.applies(p))
        outcome = run_analysis(Table.of(problem), check)
        assert outcome.wrong is None and not outcome.error, name
        claim = Claim(problem.root, "!=", problem.root)
        wrong = run_analysis(Table.of(problem), Analysis(check.applies, lambda q, claim=claim: (claim,), ""))
        finding = found_in(name, problem, wrong, check)
        assert finding is not None
        path = tmp_path / f"{name}.py"
        path.write_text(repro.analysis_repro_script(finding, name, problem, wrong, Limits()))
        lines.append(f"print({name!r}); runpy.run_path({str(path)!r}, run_name='__main__')")
    # One process for all: a limit that one of them sets cannot be raised by the next.
    script = "\n".join(("import resource, runpy", "resource.setrlimit = lambda *limit: None", *lines))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    assert done.stdout.count("the bug does not show") == len(CHECKS)


def easy(number: int) -> Problem:
    x = Expr("Var", "int32", (), "x")
    variables = (Variable("x", "int32", tuple(range(4))),)
    four = const(4, "int32")
    total = Expr("Add", "int32", (Expr("Mul", "int32", (x, four)), const(1, "int32")))
    below = Expr("LT", "bool", (x, four))
    return [
        Problem(variables, (total,)),
        Problem(variables, (Expr("LT", "bool", (total, const(9, "int32"))),)),
        Problem(variables, (total, x)),
        Problem(variables, (total,), (below,)),
        Problem(variables, (x, x)),
    ][number]


def found_on_tvm(name: str, problem: Problem) -> tuple[str, Signed]:
    """Reduce a problem on which a real analysis is wrong; returns who is at fault, and the finding."""
    reduced = minimal(problem, name, CHECKS)
    assert reduced is not None
    check, smallest = reduced
    finding = found_in(check, smallest, run_analysis(Table.of(smallest), CHECKS[check]), CHECKS[check])
    assert finding is not None
    return check, finding


def node(op: str, *args: Expr | int, dtype: str = "int32") -> Expr:
    kind = next(arg.dtype for arg in args if isinstance(arg, Expr))
    return Expr(op, dtype, tuple(const(arg, kind) if isinstance(arg, int) else arg for arg in args))


def over(root: Expr, *values: int, dtype: str = "int32") -> Problem:
    return Problem((Variable("x", dtype, values),), (root,))


X = Expr("Var", "int32", (), "x")
MOD = node("Mod", X, 2)
BYTE = Expr("Var", "uint8", (), "x")
PER_CENT = node("Mod", Expr("Var", "int64", (), "x"), (1 << 63) - 1, dtype="int64")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("int_set", over(MOD, -1, 0)),
        ("deduce_bound", Problem(
            (Variable("x", "int32", (-1,)), Variable("y", "int32", (-1, 0))),
            (node("LT", X, node("Mod", Expr("Var", "int32", (), "y"), 2), dtype="bool"),),
        )),
        ("can_prove_symbolic", over(node("GE", MOD, 0, dtype="bool"), -1, 0)),
    ],
)  # fmt: skip
def test_who_rests_on_a_wrong_set_shows_the_fault_of_the_set(name: str, problem: Problem) -> None:
    check, finding = found_on_tvm(name, problem)
    assert check == "int_set"
    assert finding.signature == found_on_tvm("int_set", over(MOD, -1, 0))[1].signature


def test_one_cause_has_one_signature_and_another_has_another() -> None:
    """Of real analyses: sets that wrap, whatever the dtype, are one bug, and the remainder's another."""
    wraps = {
        found_on_tvm("int_set", problem)[1].signature
        for problem in (
            over(node("Sub", BYTE, BYTE, dtype="uint8"), 1, 2, dtype="uint8"),
            over(node("Add", PER_CENT, 2, dtype="int64"), 0, 1, dtype="int64"),
            over(node("Add", node("Mod", X, 3), (1 << 31) - 2), 0, 1),
        )
    }
    assert len(wraps) == 1
    assert found_on_tvm("int_set", over(MOD, -1, 0))[1].signature not in wraps


def test_a_step_of_simplify_is_blamed() -> None:
    """`x % 3 != y * 3` is rewritten to an order before the canonical form of that is wrong."""
    y = Expr("Var", "int32", (), "y")
    root = node("NE", node("Mod", X, 3), node("Mul", y, 3), dtype="bool")
    problem = Problem((Variable("x", "int32", (-1, 0)), Variable("y", "int32", (0, 1))), (root,))
    assert found_on_tvm("simplify", problem)[0] == "canonical_simplify"


def test_what_a_condition_guards_is_asked_about_under_it() -> None:
    """The bounds of `y >> x` are wrong where a condition alone keeps `x` from being negative."""
    y = Expr("Var", "int32", (), "y")
    known = node("NE", node("Add", X, y), y, dtype="bool")
    root = Expr("if_then_else", "int32", (known, const(0, "int32"), node("Min", node("RShift", y, X), 0)))
    problem = Problem((Variable("x", "int32", (-1, 0, 1)), Variable("y", "int32", (1,))), (root,))
    assert found_on_tvm("rewrite_simplify", problem)[0] == "const_int_bound"


def test_a_problem_of_a_program_stays_one() -> None:
    """`(x // 2) // -1` is smaller, and no program has it."""
    problem = over(node("FloorDiv", node("FloorDiv", X, 3), 2), *range(-2, 4))
    reduced = minimal(problem, "iter_map_surjective", CHECKS)
    assert reduced is not None and tier_of_problem(*reduced) == FIRST_TIER


def test_a_constraint_that_fails_is_at_fault_itself() -> None:
    """Whoever is asked under it."""
    known = node("EQ", Expr("Select", "uint8", (node("LE", const(0, "uint8"), BYTE, dtype="bool"), BYTE, BYTE)), BYTE)
    problem = Problem((Variable("x", "uint8", (0, 1)),), (BYTE,), (known._replace(dtype="bool"),))
    found = {name: found_on_tvm(name, problem) for name in ("rewrite_simplify", "simplify", "constraint_scope")}
    assert len({(check, finding.signature) for check, finding in found.values()}) == 1


def test_an_internal_error_goes_by_what_failed() -> None:
    """Constants of unsigned dtypes do not fold, whoever asks for it; a division by zero is another bug."""
    below = node("LT", BYTE, 1, dtype="bool")
    zero = Problem((Variable("x", "uint8", (1,)),), (const(0, "uint8"), BYTE))
    same = [
        found_on_tvm("canonical_simplify", over(below, 0, dtype="uint8")),
        found_on_tvm("can_prove_equal", zero),
        found_on_tvm("int_set", over(node("Sub", BYTE, BYTE, dtype="uint8"), 0, 1, dtype="uint8")),
    ]
    assert len({finding.signature for _, finding in same}) == 1
    other = found_on_tvm("iter_map_surjective", over(node("Sub", X, X), 0, 1))[1]
    assert {finding.kind for _, finding in (*same, ("", other))} == {"ice-on-valid"}
    assert other.signature != same[0][1].signature


def test_old_signatures_are_those_of_before() -> None:
    """By the analysis that was asked and the shape, as bundles of scheme 2 have it."""
    problem = over(MOD, -1, 0)
    finding = found_in("int_set", problem, run_analysis(Table.of(problem), CHECKS["int_set"]), CHECKS["int_set"])
    assert finding is not None and finding.signatures[1] == "953d5d400ff2"
