"""Signatures of ten schemes: what the new ones tell apart, or not, and what of the old goes on to be recognised."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bundles import add_bundle, crashed, refused, wrong
from tzerlike.core.case import Case
from tzerlike.core.errors import UserError
from tzerlike.core.finding import SCHEME, Finding, Signed
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Offence, Stage
from tzerlike.core.results import Rejection
from tzerlike.findings.bundles.bundle import Confirmation, observation_text, read_record
from tzerlike.findings.known import Known, KnownEntry
from tzerlike.oracles.crash import judge_crash
from tzerlike.oracles.ill_typed import judge_ill_typed
from tzerlike.oracles.inconsistency import judge_inconsistency
from tzerlike.oracles.internal_error import judge_internal_error
from tzerlike.oracles.metamorphic import judge_metamorphic
from tzerlike.oracles.models import judge_errors
from tzerlike.oracles.round_trip import judge_round_trip
from tzerlike.reporting.triage.groups import triage
from tzerlike.reporting.triage.sightings import collect

PLAIN = Signed("wrong-code", ("both", "VectorizeLoop", "int", "value"))
MARKED, OTHER = (replace(PLAIN, marks=(mark,)) for mark in ("value", "out-of-bounds"))
CASE = Case('{"nodes": []}')


def test_marks_change_the_new_signature_alone() -> None:
    assert PLAIN.signature == "8ceae112b575" == PLAIN.signatures[0] == PLAIN.signatures[1]
    assert MARKED.signatures[0] == OTHER.signatures[0] == PLAIN.signature
    assert len({PLAIN.signature, MARKED.signature, OTHER.signature}) == 3
    assert MARKED.title == PLAIN.title


def test_a_bundle_without_a_scheme_is_shown_by_every_finding_of_its_words(tmp_path: Path) -> None:
    old = read_record(add_bundle(tmp_path, PLAIN, wrong("value")))
    assert old.scheme == 1
    assert old.shown_by(PLAIN.signatures) and old.shown_by(MARKED.signatures) and old.shown_by(OTHER.signatures)


def with_scheme(path: Path, finding: Signed, scheme: int = 2) -> Path:
    file = path / "observation.json"
    said = json.loads(file.read_text()) | {"scheme": scheme, "marks": list(finding.marks)}
    file.write_text(json.dumps(said))
    return path


def test_a_bundle_of_the_new_scheme_is_shown_by_its_own_alone(tmp_path: Path) -> None:
    new = read_record(with_scheme(add_bundle(tmp_path, MARKED, wrong("value")), MARKED))
    assert new.signed == MARKED
    assert new.shown_by(MARKED.signatures)
    assert not new.shown_by(OTHER.signatures) and not new.shown_by(PLAIN.signatures)
    with pytest.raises(UserError, match="scheme"):
        read_record(with_scheme(new.path, MARKED, SCHEME + 1))


def test_what_a_primitive_did_changes_the_newest_signature_alone(tmp_path: Path) -> None:
    plain = Signed("wrong-code", ("schedule", "ReIndex", "out-of-bounds"), marks=("read",))
    early, bare = (replace(plain, slips=(slip,)) for slip in ("order", "guard"))
    assert len({plain.signature, early.signature, bare.signature}) == 3
    assert plain.signatures[:4] == early.signatures[:4] == bare.signatures[:4]
    assert early.title == plain.title
    old = read_record(with_scheme(add_bundle(tmp_path, plain, wrong("value")), plain, 4))
    assert old.shown_by(early.signatures) and old.shown_by(bare.signatures)


def test_an_entry_of_either_scheme_hides_a_finding(tmp_path: Path) -> None:
    known = Known((KnownEntry("https://x", signature=PLAIN.signature),))
    assert known.match(MARKED.signatures, MARKED.title, "", "0.27.0")
    assert known.match(OTHER.signatures, OTHER.title, "", "0.27.0")
    narrow = Known((KnownEntry("https://x", signature=MARKED.signature),))
    assert narrow.match(MARKED.signatures, MARKED.title, "", "0.27.0")
    assert narrow.match(OTHER.signatures, OTHER.title, "", "0.27.0") is None
    with_scheme(add_bundle(tmp_path, MARKED, wrong("value")), MARKED)
    (group,) = triage(collect([tmp_path]), known).groups
    assert group.known == known.entries[0]


def judged_ice(message: str, *functions: str, by: str = "tirx.X") -> Finding:
    seen = replace(refused(by, message, *functions), rejection=Rejection("internal-error", True, "defined"))
    found = judge_internal_error(CASE, seen)
    assert found is not None
    return found


def different(first: Finding | None, second: Finding | None) -> bool:
    """Whether the old scheme takes two findings for one and the new one does not."""
    assert first is not None and second is not None
    assert first.signatures[0] == second.signatures[0], "this is not about marks"
    return first.signature != second.signature


def test_what_the_old_scheme_took_for_one() -> None:
    verifier = "InternalError: LLVM module verification failed with the following errors:\n{}\n"
    bitcast, phi = (judged_ice(verifier.format(line)) for line in ("Invalid bitcast", "PHI nodes not grouped at top!"))
    assert different(bitcast, phi)
    visit = "tvm::tirx::Vectorizer::Mutate_(tvm::tirx::{}Node const*, tvm::ffi::InplaceMode)"
    load, store = (
        judged_ice("InternalError: Check failed: (f)", visit.format(n)) for n in ("BufferLoad", "BufferStore")
    )
    assert different(load, store)
    long = "InternalError: Check failed: (" + " && ".join(f"condition_{'abcdefghijklmnop'[n]}" for n in range(16))
    assert different(judged_ice(f"{long} && one) is false:"), judged_ice(f"{long} && two) is false:"))

    text = "error: '>' not supported between instances of '{}' and 'int'"
    variable, buffer = (
        judge_round_trip(
            CASE,
            Observation(
                Exit.REJECTED,
                Stage.TEXT,
                f"error: <string> not supported between instances of <string> and <string>\nX: {text.format(name)}",
                "the parser raises",
            ),
        )
        for name in ("Var", "int")
    )
    assert different(variable, buffer)

    seen = wrong("value")
    assert seen.results is not None
    deeds = (("value", "-tirx.AllocBuffer"), ("out-of-bounds", "-tirx.AllocBuffer"))
    one, two = (
        judge_inconsistency(CASE, replace(seen, results=replace(seen.results, guilty="Storage", deed=deed)))
        for deed in deeds
    )
    assert different(one, two)


def alike(*findings: Finding | None) -> bool:
    """Whether the second scheme takes findings for several and the third one does not; bundles of both are shown."""
    known = [finding for finding in findings if finding is not None]
    assert len({finding.signatures[1] for finding in known}) == len(findings), "this is not about bare parts"
    return len({finding.signature for finding in known}) == 1


def test_what_the_second_scheme_took_for_several() -> None:
    missing = "InternalError: Check failed: (f) is false: Cannot find intrinsic declaration: llvm.{}"
    assert alike(judged_ice(missing.format("ctpop")), judged_ice(missing.format("abs")))
    assert not alike(judged_ice(missing.format("ctpop")), judged_ice(missing.replace("(f)", "(g)").format("abs")))

    lines = (
        "error: unsupported operand type(s) for +: 'Add' and 'Var'",
        "error: Mismatched type on argument #1: Expected `ir.Expr` but got `ir.Var`",
    )
    texts = (Observation(Exit.REJECTED, Stage.TEXT, f"{line}\nX: {line}", "the parser raises") for line in lines)
    assert alike(*(judge_round_trip(CASE, seen) for seen in texts))

    for judge, stage, deed in (
        (judge_metamorphic, Stage.MUTATE, ()),
        (judge_inconsistency, Stage.DONE, ("value", "-tirx.AllocBuffer")),
    ):
        found = []
        for dtype in ("float32", "int8", "uint8"):
            seen = wrong("value", dtype=dtype)
            assert seen.results is not None
            results = replace(seen.results, guilty="Storage", deed=deed)
            seen = replace(seen, results=results, stage=stage, message="other values: A[0]", pass_name="PadEinsum")
            found.append(judge(CASE, seen))
        assert alike(*found)


def test_what_the_third_scheme_took_for_one(tmp_path: Path) -> None:
    """Two ways in which a pass leaves ill-typed IR; a bundle of before is shown by both."""
    first, other, same = (
        judge_ill_typed(CASE, Observation(Exit.OK, Stage.DONE, offences=(Offence("types", "tirx.C", "buffer", where),)))
        for where in ("a buffer of a negative extent", "a buffer laid out by int32x8", "a buffer laid out by int8x4")
    )
    assert first is not None and other is not None and same is not None
    assert first.signatures[:3] == other.signatures[:3]
    assert first.signature != other.signature == same.signature
    old = Signed(first.kind, first.parts)
    record = read_record(with_scheme(add_bundle(tmp_path, old, first.observation), old, 3))
    assert record.shown_by(first.signatures) and record.shown_by(other.signatures)
    today = read_record(write(tmp_path / "today", other))
    assert today.signed.signature == other.signature and not today.shown_by(first.signatures)


def test_an_error_of_a_model_is_one_whatever_types_it_quotes() -> None:
    wrong = "ValueError: Argument 0 type mismatch: expected {}, given {}"
    tensor = 'R.Tensor((T.int64(1), T.int64(4)), dtype="int32")'
    messages = (
        wrong.format(tensor, "R.Any"),
        wrong.format(f"T.Tuple({tensor}, {tensor})", f"T.Tuple(R.Any, {tensor})"),
    )
    case, rejection = Case("{}", harness="graph"), Rejection("internal-error", True, "defined")
    found = [judge_errors(case, replace(refused("P", said, "tvm::F()"), rejection=rejection)) for said in messages]
    assert len({one.signature for one in found if one}) == 1
    assert len({one.signatures[-2] for one in found if one}) == 2
    other = replace(refused("P", "ValueError: Argument 0 is missing", "tvm::F()"), rejection=rejection)
    assert (last := judge_errors(case, other)) is not None and last.root == ()


def test_what_the_fifth_scheme_took_for_several(tmp_path: Path) -> None:
    """What a message quotes of a model; a bundle of before is shown by what is found today."""
    slot = "InternalError: Check failed: (slot->value_computed) is false: PrimExpr {} in function main is not computed"
    kind = "InternalError: Check failed: (opt) is false: The type of {} is {}"
    extent = "AssertionError: Dimension of updates[1] ({}) must equal dimension of out_shape[0] ({})."
    groups = (
        [slot.format(text) for text in ("k0 * T.int64(2)", "k1 * k2 + T.int64(1)")],
        [kind.format("lv", 'R.Tensor((n,), dtype="int8")'), kind.format("lv1", "R.Tuple(R.Tensor((3, m * 2)))")],
        [extent.format(text, text) for text in ("T.int64(2) * n", "(m + T.int64(1)) * n")],
    )
    for messages in groups:
        case = Case("{}", harness="graph")
        rejection = Rejection("internal-error", True, "defined")
        seen = [replace(refused("P", message, "tvm::F()"), rejection=rejection) for message in messages]
        first, second = (judge_errors(case, one) for one in seen)
        assert first is not None and second is not None
        assert first.signatures[4] != second.signatures[4] and first.signature == second.signature
        old = replace(Signed(second.kind, second.parts, marks=second.marks), bare=second.bare)
        assert old.signatures[4] == second.signatures[4]
        path = add_bundle(tmp_path, old, second.observation)
        (path / "observation.json").write_text(
            json.dumps(
                json.loads((path / "observation.json").read_text())
                | {"scheme": 5, "bare": list(old.bare), "marks": list(old.marks), "signature": old.signatures[4]}
            )
        )
        record = read_record(path)
        assert record.shown_by(second.signatures) and not record.shown_by(first.signatures)


def test_what_the_sixth_scheme_took_for_several() -> None:
    """Which pass asked the analyzer, by way of which simplifier, and what it quotes of the program."""
    conflict = "InternalError: Check failed: (allow_override) is false: Binding of variable v{} conflicts with {}"
    inside = ("void tvm::sym::Comparison::Bind(tvm::Var const&)", "tvm::sym::AnalyzerObj::Bind(tvm::Var const&)")
    asked = "tvm::sym::RewriteSimplifier::{}(tvm::PrimExpr)"
    operator, constraint = (asked.format(name) for name in ("operator()", "EnterConstraint"))
    first = judged_ice(conflict.format(0, "I.Range(0, 1)"), *inside, operator, by="LowerIntrin")
    second = judged_ice(conflict.format(1, "T.clz(1)"), *inside, constraint, by="RemoveNoOp")
    assert first.signatures[5] != second.signatures[5] and first.signature == second.signature
    another_way = judged_ice(conflict.format(1, "T.clz(1)"), *inside[1:])
    another_check = judged_ice("InternalError: Check failed: (it == end) is false", *inside)
    assert len({first.signature, another_way.signature, another_check.signature}) == 3
    its_own = judged_ice(conflict.format(1, "T.clz(1)"), "tvm::tirx::RemoveNoOp()", *inside)
    assert not its_own.identity and its_own.signature == its_own.signatures[5]


def test_what_the_sixth_scheme_took_for_one() -> None:
    """In which field of a statement another program comes back, wherever the statement stands."""
    index, extent, deeper = (
        judge_round_trip(CASE, Observation(Exit.REJECTED, Stage.TEXT, message, "another program comes back"))
        for message in (
            "value: <n> becomes <n>\n<root>.body.seq[2].body.indices[0].indices[0].value: -4\n",
            "value: <n> becomes <n>\n<root>.body.block.body.extent.a.b.value: 15\n",
            "value: <n> becomes <n>\n<root>.body.seq[0].then_case.extent.value: 3\n",
        )
    )
    assert index is not None and extent is not None and deeper is not None
    assert index.signatures[5] == extent.signatures[5] and index.signature != extent.signature == deeper.signature


def test_what_the_seventh_scheme_took_for_several() -> None:
    """How a visitor came to the node at which it died; what kind that is tells apart."""
    visit = "UnchangedOr<Any> tvm::ObjectMutator::DispatchNode<tvm::tirx::StmtExprMutator, tvm::tirx::{}Node>(Object)"
    inner, attr, loop, store = "lib+0x1", *map(visit.format, ("AttrStmt", "For", "BufferStore"))

    def died(*frames: str) -> Finding:
        finding = judge_crash(CASE, crashed("tirx.Inject", *frames))
        assert finding is not None
        return finding

    first, below, elsewhere = died(inner, attr), died(inner, attr, "lib+0x2", loop), died(inner, attr, "lib+0x3", loop)
    assert first.signature == below.signature == elsewhere.signature
    assert len({finding.signatures[6] for finding in (first, below, elsewhere)}) == 3
    others = (died(inner, store), died("lib+0x4", attr), died("lib+0x4", inner, attr), died(inner), died(attr, loop))
    assert len({finding.signature for finding in (first, *others)}) == 6
    assert died(inner).signature == died(inner).signatures[6] and died(attr, loop).place == ()


def test_what_the_seventh_scheme_took_for_several_errors() -> None:
    """How a visitor came to the node at which a pass without a name on the stack raised."""
    visit = (
        "tvm::ffi::UnchangedOr<tvm::ffi::Any> tvm::ObjectMutator::DispatchNode<tvm::ExprMutator, tvm::{}Node>(Object)"
    )
    call, load, less, above = map(visit.format, ("Call", "TensorLoad", "prim::LT", "prim::Let"))
    cast = "TypeError: Cannot treat type T as type U"
    first, other_way = judged_ice(cast, call, less, above), judged_ice(cast, call, above)
    assert first.signatures[6] != other_way.signatures[6] and first.signature == other_way.signature
    assert first.signature != judged_ice(cast, load, less, above).signature
    named = judged_ice(cast, "tvm::s_tir::Permute(int)", call, above)
    assert not named.place and named.signature == named.signatures[6]


def test_what_the_eighth_scheme_took_for_several() -> None:
    """What a wrong value happens to be, where it is known what the guilty pass does."""
    deed = ("value", "-tirx.For of kind 2")

    def told(nature: str, deed: tuple[str, ...] = deed) -> Finding:
        seen = wrong(nature)
        assert seen.results is not None
        finding = judge_inconsistency(CASE, replace(seen, results=replace(seen.results, guilty="P", deed=deed)))
        assert finding is not None
        return finding

    one, kept = told("value"), told("unwritten")
    assert one.signatures[7] != kept.signatures[7] and one.signature == kept.signature
    assert one.signature != told("value", ("value", "-tirx.Let")).signature
    assert len({told(nature).signature for nature in ("value", "inaccurate", "outside")}) == 3
    assert told("value", ()).signatures[7] != told("nan", ()).signatures[7]
    assert told("value", ()).signature == told("nan", ()).signature != one.signature


def test_what_the_ninth_scheme_took_for_several_schedules() -> None:
    """What a wrong value happens to be, and its dtype, where it is known what the primitive does."""

    def told(nature: str, dtype: str, slips: tuple[str, ...], marks: tuple[str, ...] = ()) -> Finding:
        seen = replace(
            wrong(nature, dtype=dtype), stage=Stage.MUTATE, message="other values: A[0]", pass_name="PadEinsum"
        )
        finding = judge_metamorphic(CASE, seen, marks, slips)
        assert finding is not None
        return finding

    again = ("beginning",)
    one, kept = told("value", "int32", again), told("unwritten", "float32", again)
    assert one.signatures[8] != kept.signatures[8] and one.signature == kept.signature
    assert told("value", "int32", ("order",)).signature != one.signature
    assert told("nan", "float32", ()).signature == told("value", "int32", ()).signature != one.signature
    assert told("inaccurate", "float32", again).signature not in (one.signature, told("value", "int32", ()).signature)
    assert len({told("value", "int32", again, (end,)).signature for end in ("read", "write")}) == 2


def write(directory: Path, finding: Finding) -> Path:
    directory.mkdir()
    text = observation_text(finding, finding.observation, Limits(5.0, 1 << 30), Confirmation(2, 2), {"tvm": "0.27.0"})
    (directory / "observation.json").write_text(text)
    return directory


def test_a_bundle_of_the_second_scheme_is_shown_by_what_is_found_today(tmp_path: Path) -> None:
    missing = "InternalError: Check failed: (f) is false: Cannot find intrinsic declaration: llvm.ctpop"
    today = judged_ice(missing)
    old = Signed(today.kind, today.parts, marks=today.marks)
    assert old.signature == today.signatures[1] != today.signature
    path = with_scheme(add_bundle(tmp_path, old, today.observation), old)
    assert read_record(path).shown_by(today.signatures)
    known = Known((KnownEntry("https://x", signature=old.signature),))
    assert known.match(today.signatures, today.title, "", "0.27.0")


def test_a_short_message_has_no_marks() -> None:
    """Its signature is the same under both schemes."""
    assert judged_ice("InternalError: Check failed: (found) is false: p0 is lost", "tvm::Free(int)").marks == ()


def test_bundles_of_a_crash_are_as_they_were(tmp_path: Path) -> None:
    signed = Signed("crash", ("passes", "X", "SIGSEGV", "lib+0x1"))
    assert read_record(add_bundle(tmp_path, signed, crashed("X", "lib+0x1"))).shown_by(signed.signatures)


def test_what_is_kept_apart_has_its_signature_and_a_group_of_its_own(tmp_path: Path) -> None:
    other = replace(PLAIN, apart=("tirx.Bind",))
    assert other.signatures == PLAIN.signatures and other.directory != PLAIN.directory
    add_bundle(tmp_path, PLAIN, wrong("value"))
    file = add_bundle(tmp_path, other, wrong("value")) / "observation.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"apart": ["tirx.Bind"]}))
    assert read_record(file.parent).signed == other
    assert len(triage(collect([tmp_path]), Known()).groups) == 2
