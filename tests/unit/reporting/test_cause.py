"""Which findings have one cause, and which have not; the messages and frames are those of TVM 0.27."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.bundles import crashed, program, refused, wrong
from tzerlike.core.observation import ILL_FORMED, LEFTOVER, NOT_KEPT, Exit, Observation, Offence, Stage
from tzerlike.core.refused import failed_check
from tzerlike.graph.steps import RAISES, WRONG_SHAPE
from tzerlike.reporting.triage.cause import Cause, cause_of, named_by
from tzerlike.tir.shape import essence_of, shape_of

NARROW = "void tvm::s_tir::Collector::Narrow(const tvm::Region&)"
BIND = "void tvm::sym::TransitiveComparisonAnalyzer::Impl::Bind(const tvm::Var&, const tvm::Range&, bool)"
VISIT = "tvm::ObjectVisitor::Visit(tvm::ffi::AnyView)"
FOLD = "tvm::ffi::Optional<tvm::PrimExpr> tvm::prim::detail::TryConstFold(tvm::PrimExpr, tvm::PrimExpr) [with Op = X]"
CTOR = "tvm::prim::Mul::Mul(tvm::PrimExpr, tvm::PrimExpr, tvm::Span)"
INT_IMM = "tvm::IntImm::IntImm(tvm::PrimType, tvm::ffi::BigInt, tvm::Span)"
FLOAT_IMM = "tvm::FloatImm::FloatImm(tvm::PrimType, double, tvm::Span)"
BIG_INT = "tvm::ffi::BigInt tvm::ffi::details::int_ops::FromDoubleFallback(double)"
UNSIGNED = "tvm::PrimExpr tvm::prim::MakeConstScalar(tvm::PrimType, ValueType, tvm::Span) [with ValueType = double]"
CAST = "tvm::prim::cast(tvm::PrimType, tvm::PrimExpr, tvm::Span)"
SIMPLIFY = "tvm::sym::CanonicalSimplifier::operator()(tvm::PrimExpr const&)"
REWRITE = "tvm::sym::RewriteSimplifier::operator()(tvm::PrimExpr const&)"


@pytest.mark.parametrize(
    ("message", "check"),
    [
        (
            "InternalError: Check failed: (it != accesses_.end()) is false: lv3_red is allocated but not accessed",
            "InternalError: (it != accesses_.end())",
        ),
        (
            "InternalError: Check failed: undefined.size() == 0 (1 vs. 0) : In PrimFunc main variables (v_k,) are used",
            "InternalError: undefined.size() == <n>",
        ),
        (
            "InternalError: Check failed: (f) is false: Cannot find intrinsic declaration: llvm.ctpop",
            "InternalError: (f)",
        ),
        (
            "InternalError: Check failed: (o) is false: Binding of v1 as I.Range(0, 4) conflicts with ir.Range(0xf0)",
            "InternalError: (o)",
        ),
        ("TypeError: Cannot treat type `ir.Var` as a call", "TypeError: Cannot treat type <name> as a call"),
        ("RuntimeError: Cannot find function device_api.copy here", "RuntimeError: Cannot find function <name> here"),
        (
            "InternalError: LLVM module verification failed:\nInvalid bitcast\n  %9 = bitcast float",
            "InternalError: LLVM module verification failed: Invalid bitcast",
        ),
        ("InternalError: Do not have a default for tirx.Break", "InternalError: Do not have a default for <name>"),
        ("\n  IndexError: Index 3 out of bounds 2\nmore", "IndexError: Index <n> out of bounds <n>"),
        ("", ""),
    ],
)
def test_the_check_is_told_without_what_varies(message: str, check: str) -> None:
    assert failed_check(message) == check


def ice(pass_name: str, message: str, *functions: str, guilty: str = "") -> object:
    return cause_of("ice-on-valid", refused(pass_name, message, *functions), guilty)


CHECK = "InternalError: Check failed: (found) is false: {} is not accessed"


def test_one_check_in_one_function_of_one_pass_is_one_cause_whatever_the_program_calls_things() -> None:
    assert ice("s_tir.Compact", CHECK.format("p0"), NARROW) == ice("s_tir.Compact", CHECK.format("T_add"), NARROW)


def test_the_guilty_pass_tells_causes_apart() -> None:
    first, other = (ice(name, CHECK.format("a"), NARROW) for name in ("s_tir.Compact", "tirx.StorageRewrite"))
    assert first != other
    blamed = [ice(name, CHECK.format("a"), NARROW, guilty="tirx.Unroll") for name in ("s_tir.Compact", "tirx.Other")]
    assert blamed[0] == blamed[1] != first


def test_code_generation_is_named_as_a_bisection_names_it() -> None:
    seen = replace(refused("", CHECK, NARROW), stage=Stage.BUILD)
    assert cause_of("ice-on-valid", seen) == cause_of("ice-on-valid", seen, "code generation")
    assert cause_of("ice-on-valid", replace(seen, stage=Stage.LOAD)) is None


def test_another_condition_or_function_is_another_cause() -> None:
    first = ice("a.B", CHECK.format("x"), NARROW)
    assert first != ice("a.B", CHECK.replace("found", "lost").format("x"), NARROW)
    assert first != ice("a.B", CHECK.format("x"), BIND)
    assert first != ice("a.B", CHECK.format("x").replace("Internal", "Value"), NARROW)


def test_the_names_of_intrinsics_do_not_tell_causes_apart() -> None:
    texts = [f"InternalError: Check failed: (f) is false: no intrinsic llvm.{name}" for name in ("ctpop", "abs")]
    assert ice("a.B", texts[0], NARROW) == ice("a.B", texts[1], NARROW)


def test_where_the_analyzer_or_folding_fails_the_pass_does_not_count() -> None:
    text = "InternalError: Check failed: (pb != 0) is false: Divide by zero"
    assert ice("a.B", text, BIND, VISIT, NARROW) == ice("a.C", text, BIND, REWRITE)
    assert ice("a.B", text, FOLD, NARROW) == ice("a.C", text, FOLD, SIMPLIFY)
    assert ice("a.B", text, BIND) != ice("a.C", text, FOLD)
    assert ice("a.B", text, NARROW, BIND) != ice("a.C", text, NARROW, BIND)
    assert ice("a.B", text, BIND, guilty="tirx.Other") != ice("a.B", text, BIND)


def test_a_node_that_cannot_be_made_is_the_fault_of_who_makes_it() -> None:
    text = "InternalError: Check failed: (pb != 0) is false: Divide by zero"
    assert ice("a.B", text, CTOR, VISIT, SIMPLIFY) == ice("a.C", text, CTOR, SIMPLIFY)
    assert ice("a.B", text, CTOR, SIMPLIFY) != ice("a.B", text, CTOR, REWRITE)
    assert ice("a.B", text, CTOR, NARROW) != ice("a.C", text, CTOR, NARROW)


def test_a_constant_that_does_not_fit_is_the_fault_of_who_asks_for_it() -> None:
    """Which bound of which type it exceeds is the program's."""
    below = "ValueError: Check failed: value >= -bound (-1e9 vs. -448) : Literal value -1e9 below minimum of float8"
    unsigned = "InternalError: Check failed: (value >= 0) is false: cannot make uint from negative value -1.5"
    cast = ice("a.B", below, FLOAT_IMM, CAST, SIMPLIFY)
    assert cast == ice("a.C", unsigned, UNSIGNED, CAST, REWRITE)
    visits = "tvm::ffi::UnchangedOr<x> tvm::ObjectMutator::DispatchNode<tvm::{}, tvm::{}Node>(x)"
    folded = visits.format("ExprMutator", "prim::Cast")
    assert cast == ice("a.B", "RuntimeError: Cannot convert infinity to BigInt", BIG_INT, CAST, folded)
    own = (CAST, "tvm::prim::detail::BinaryOpMatchTypes(tvm::PrimExpr&, tvm::PrimExpr&, tvm::Span)", "tvm::mul(x)")
    region = "tvm::sym::EstimateRegionUpperBound(x)"
    assert cast == ice("a.B", unsigned, UNSIGNED, CAST, "tvm::operator-(tvm::PrimExpr)", region)
    bound = ice("a.B", unsigned, UNSIGNED, CAST, "tvm::sym::IntSetAnalyzer::operator()(tvm::PrimExpr const&)")
    assert cast != bound == ice("a.C", below, FLOAT_IMM, CAST, "tvm::sym::IntSetAnalyzer::operator()(x)")
    assert bound != ice("a.B", below, FLOAT_IMM, "tvm::sym::IntSetAnalyzer::operator()(x)")
    for asked in (own, (*own, NARROW, region), (CAST, visits.format("tirx::StmtExprMutator", "tirx::For"))):
        assert ice("a.B", unsigned, UNSIGNED, *asked) not in (cast, ice("a.C", unsigned, UNSIGNED, *asked))
    assert cast != ice("a.B", below, FLOAT_IMM, NARROW)
    assert cast != ice("a.B", "InternalError: Check failed: lanes == 1 (2 vs. 1) :", CAST, SIMPLIFY)
    wide = "ValueError: Check failed: (small) is false: Literal value 6442450941 exceeds range of int32"
    assert ice("a.B", wide, INT_IMM, NARROW) != ice("a.C", wide, INT_IMM, NARROW)


def test_a_constant_made_in_the_visit_of_arithmetic_is_the_simplification_that_passes_share() -> None:
    wide = "ValueError: Check failed: (small) is false: Literal value 6442450941 exceeds range of int32"
    visits = "tvm::ffi::UnchangedOr<x> tvm::ObjectMutator::DispatchNode<tvm::ExprMutator, tvm::{}Node>(x)"
    shared = ice("a.B", wide, INT_IMM, VISIT, SIMPLIFY)
    assert shared is not None
    assert shared == ice("a.C", wide, INT_IMM, visits.format("prim::FloorMod"), visits.format("TensorLoad"))
    assert shared != ice("a.C", wide, INT_IMM, visits.format("tirx::For"))
    assert ice("a.B", wide, INT_IMM, visits.format("tirx::For")) != ice(
        "a.C", wide, INT_IMM, visits.format("tirx::For")
    )


def test_an_error_on_ill_typed_ir_is_the_ill_typed_ir() -> None:
    """However a later step fails on it; a call is how its type differs, whatever the intrinsic is called."""
    narrowed = "{} of int32, {} typed int64"
    cttz = Offence("types", "tirx.Force", "call", narrowed.format("llvm.cttz", "bool"))
    sadd = replace(cttz, where=narrowed.format("llvm.sadd.sat", "int32"))
    lanes = replace(cttz, where="prim.if_then_else of boolx4, uint8x4, uint8x4 typed uint8x4")
    error = refused("", CHECK, NARROW)
    causes = [cause_of("ice-on-valid", replace(error, origin=cttz))] + [
        cause_of("invalid-ir", Observation(Exit.OK, Stage.DONE, offences=(offence,)))
        for offence in (cttz, sadd, lanes, replace(cttz, rule="operands"), replace(cttz, pass_name="tirx.Other"))
    ]
    assert causes[0] == causes[1] == causes[2]
    assert len(set(causes)) == 4


def test_ill_typed_ir_is_told_apart_by_what_is_said_of_it_without_what_the_program_chose() -> None:
    def ill_typed(rule: str, where: str) -> object:
        return cause_of("invalid-ir", Observation(Exit.OK, Stage.DONE, offences=(Offence("types", "B", rule, where),)))

    assert ill_typed("buffer", "a buffer of a negative extent") != ill_typed("buffer", "a buffer laid out by int32x8")
    axes = "axes of {} for int32"
    assert ill_typed("axis", axes.format("int64, int64")) == ill_typed("axis", axes.format("int16"))
    operands = "{} of int32 and int64"
    assert ill_typed("operands", operands.format("Add")) == ill_typed("operands", operands.format("Mul"))
    assert ill_typed("strides", "1 strides for 2 dimensions") == ill_typed("strides", "1 strides for 4 dimensions")


def test_ill_formed_ir_is_the_cause_only_of_what_fails_on_a_definition() -> None:
    broken = Offence("ill-formed", "a.Breaker", "well-formed", "")
    lost, lanes = "variable v1 has been used before definition!", "Check failed: (index) is false:"
    assert named_by(replace(refused("a.C", lost, NARROW), origin=broken)) == "a.Breaker"
    assert named_by(replace(refused("a.C", lanes, NARROW), origin=broken)) == ""
    assert named_by(replace(refused("a.C", lanes, NARROW), origin=replace(broken, check="types"))) == "a.Breaker"
    assert named_by(refused("a.C", lost, NARROW)) == ""


def test_an_error_on_ill_formed_ir_stays_where_it_is_seen() -> None:
    """That it is ill-formed does not say in what way."""
    broken = Offence("ill-formed", "a.B", "well-formed", "")
    seen = [replace(refused("a.C", CHECK, frame), origin=broken) for frame in (NARROW, BIND)]
    assert cause_of("ice-on-valid", seen[0]) != cause_of("ice-on-valid", seen[1])


def test_an_operator_of_a_container_does_not_tell() -> None:
    index = "const tvm::ffi::Any& tvm::ffi::SeqBaseObj::operator[](int64_t) const"
    text = "IndexError: Index 0 out of bounds 0"
    assert ice("a.B", text, index, NARROW) == ice("a.B", text, NARROW) != ice("a.B", text, index, BIND)


def test_without_a_telling_frame_the_condition_is_the_cause() -> None:
    one = ice("a.B", CHECK, VISIT, "TVMFFIPyCallManager::ForwardPyErrorToFFI()")
    assert one is not None and one == ice("a.B", CHECK.format("x"))
    assert one != ice("a.C", CHECK) and one != ice("a.B", CHECK.replace("found", "lost"))


def test_a_round_trip_is_the_construct_that_does_not_come_back() -> None:
    texts = (
        "error: '>' not supported between instances of 'Var' and 'int'",
        "error: unsupported operand type(s) for +: 'Add' and 'Var'",
        "error: Mismatched type on argument #1: Expected `ir.Expr` but got `ir.Var`",
        "error: Cannot convert from type `ir.Var` to `ir.Expr`",
        "error: Mismatched type on argument #0: Expected `ir.Expr` but got `ffi.BigInt`",
        "error: Undefined variable: v0",
        "error: Undefined variable: n",
    )
    causes = [
        cause_of("ice-on-valid", Observation(Exit.REJECTED, Stage.TEXT, f"{text}\nDiagnosticError: {text}", "parser"))
        for text in texts
    ]
    assert causes[0] == causes[1] == causes[2] == causes[3] != causes[4]
    assert causes[5] == causes[6] not in causes[:5]


def lost(message: str) -> object:
    return cause_of("ice-on-valid", Observation(Exit.REJECTED, Stage.TEXT, message, "parser"))


def test_a_field_is_what_it_comes_back_as() -> None:
    scope = "storage_scope: {} becomes {}\n<root>.body"
    assert lost(scope.format("global", "local")) == lost(scope.format("shared", "local"))
    assert lost(scope.format("global", "local")) != lost(scope.format("local", "global"))
    assert lost(scope.format("global", "local")) != lost(scope.replace("storage_", "").format("global", "local"))


def test_the_type_of_a_part_is_that_part_whatever_types_it_had() -> None:
    text = "dtype: {0} becomes {1}\n<root>.body.{2}.ty.dtype: {0}\n<root>.body.{2}.ty.dtype: {1}"
    loop = lost(text.format("int16", "int32", "loop_var"))
    assert loop == lost(text.format("uint8", "uint32", "loop_var")) != lost(text.format("int16", "int32", "value"))


def test_a_literal_that_does_not_fit_is_one_and_so_is_a_dtype_that_the_parser_lacks() -> None:
    bound = "error: Check failed: value {} () (<n> vs. <n>) : Literal value <n> exceeds {} of float<n>"
    assert lost(bound.format("<= max", "maximum")) == lost(bound.format(">= lowest", "minimum"))
    lacks = "error: module <string> has no attribute <string>\nDiagnosticError: error: module 'p' has no attribute '{}'"
    assert lost(lacks.format("bfloat16x4")) == lost(lacks.format("boolx2")) != lost(lacks.format("sblock"))


def crash(seen: Observation, guilty: str = "") -> object:
    return cause_of("crash", seen, guilty)


def test_a_crash_is_its_pass_signal_and_deepest_telling_function() -> None:
    deep = crashed("s_tir.Inject", "tvm::ObjectMutator::Mutate(x)", "lib+0x1", "lib+0x2")
    assert crash(deep) == crash(crashed("s_tir.Inject", "lib+0x1", "lib+0x3"))
    assert crash(deep) != crash(crashed("s_tir.Inject", "lib+0x2", "lib+0x1"))
    assert crash(deep) != crash(crashed("s_tir.Other", "lib+0x1", "lib+0x2"))
    assert crash(deep) != crash(replace(deep, signal=6))
    assert crash(deep) != ice("s_tir.Inject", "SIGSEGV", "lib+0x1")


def test_an_abort_takes_more_functions() -> None:
    """The deepest is what ends the process, whoever asked for it."""
    aborts = [replace(crashed("a.B", "lib+0x1", "lib+0x2", last), signal=6) for last in ("lib+0x3", "lib+0x4")]
    assert crash(aborts[0]) != crash(aborts[1])
    assert crash(aborts[0]) == crash(replace(aborts[0], backtrace=(*aborts[0].backtrace, *aborts[1].backtrace)))


def test_an_exception_that_nothing_caught_is_the_check_that_raised_it() -> None:
    what = "SIGABRT   what():  Check failed: constraints_.size() == size ({} vs. 2) :"
    one = replace(crashed("a.B", "lib+0x1", "lib+0x2"), signal=6, message=what.format(4))
    other = replace(crashed("a.B", "lib+0x3"), signal=6, message=what.format(8))
    assert crash(one) == crash(other)
    assert crash(one) != crash(replace(one, message=what.replace("size ", "length ")))
    assert crash(one) != crash(replace(one, pass_name="a.C"))


def test_a_crash_of_no_pass_or_of_no_function_has_no_cause() -> None:
    assert crash(replace(crashed("", "lib+0x1"), stage=Stage.BUILD)) is None
    assert crash(crashed("a.B")) is None
    assert crash(replace(crashed("schedule-blocks", "lib+0x1"), stage=Stage.MUTATE)) is None


def primitive(name: str, message: str, *functions: str) -> object:
    return cause_of("ice-on-valid", replace(refused(f"Schedule.{name}", message, *functions), stage=Stage.MUTATE))


def test_a_null_pointer_in_a_primitive_is_one_cause_be_it_found_or_followed() -> None:
    checked = "InternalError: Check failed: (outer != nullptr && inner != nullptr) is false: "
    found = primitive("reindex", checked, "tvm::s_tir::ReIndex(ScheduleState, int)")
    died = replace(crashed("schedule-blocks"), stage=Stage.MUTATE, message="SIGSEGV in Schedule.reindex")
    followed = cause_of("crash", died, marks=("tvm::s_tir::ReIndex(tvm::s_tir::ScheduleState, int)",))
    assert found == followed is not None
    assert found != cause_of("crash", died, marks=("tvm::s_tir::CacheRead(tvm::s_tir::ScheduleState, int)",))
    assert cause_of("crash", died) is None
    assert cause_of("crash", replace(died, signal=6), marks=("tvm::s_tir::ReIndex(int)",)) is None
    assert found != primitive("reindex", checked.replace("inner !=", "inner =="), "tvm::s_tir::ReIndex(int)")


def test_mirrored_primitives_share_what_fails_below_them_and_no_more() -> None:
    text = "InternalError: Check failed: (a == b) is false: "
    below = [(f"tvm::s_tir::{one}(x)", "tvm::s_tir::Region::Region(x)") for one in ("CacheRead", "CacheWrite")]
    read, write = (primitive(f"cache_{n}", text, *reversed(f)) for n, f in zip(("read", "write"), below, strict=True))
    assert read == write != primitive("cache_index", text, *reversed(below[0]))
    own = [primitive(f"cache_{n}", text, f[0]) for n, f in zip(("read", "write"), below, strict=True)]
    assert own[0] != own[1]


def test_what_a_pass_left_is_a_cause_where_it_is_known_which_statement_has_it() -> None:
    def left(rule: str, name: str = "tirx.Legalize") -> Observation:
        return replace(refused("tirx.Other", CHECK, NARROW), origin=Offence(LEFTOVER, name, rule, "x"))

    first = cause_of("ice-on-valid", left("no bfloat16 in Bind"), "Legalize")
    died = replace(crashed("tirx.Other", "lib+0x1"), origin=left("no bfloat16 in Bind").origin)
    assert first == cause_of("crash", died, "Legalize")
    assert first == cause_of("wrong-code", wrong("value"), "tirx.Legalize", deed=(LEFTOVER, "no bfloat16 in Bind"))
    assert first != cause_of("ice-on-valid", left("no bfloat16 in BufferStore"), "Legalize")
    assert first != cause_of("ice-on-valid", left("no bfloat16"), "Legalize")
    assert first != cause_of("ice-on-valid", left("no bfloat16 in Bind", "tirx.Other"), "Other")
    refused_by_verifier = replace(left("x"), origin=Offence(ILL_FORMED, "tirx.Legalize", "no bfloat16 in Bind", ""))
    assert first == cause_of("ice-on-valid", refused_by_verifier, "Legalize")


def test_what_a_legaliser_left_is_one_cause_whichever_dtype_it_is_for_and_however_it_shows() -> None:
    def left(name: str, rule: str) -> object:
        origin = Offence(LEFTOVER, f"tirx.{name}", rule, "x")
        return cause_of("ice-on-valid", replace(refused("tirx.Other", CHECK, NARROW), origin=origin), name)

    made = "tvm::tirx::{0}::{0}(tvm::Var, tvm::Expr, tvm::Span)".format
    text = "InternalError: Check failed: (value->ty == var->ty) is false: "
    wide, narrow = "BF16ComputeLegalize", "FP8ComputeLegalize"
    first = left(wide, "no bfloat16 in Bind")
    assert first is not None
    assert first == left(narrow, "no float8 in Bind") != left(narrow, "no float8 in BufferStore")
    for name in (wide, narrow):
        assert first == ice(f"tirx.{name}", text, made("Bind"), VISIT) != ice(f"tirx.{name}", text, made("Let"))
        assert first != ice(f"tirx.{name}", text, NARROW)
    assert ice("tirx.Other", text, made("Bind")) not in (first, ice("tirx.Another", text, made("Bind")))


def test_a_stack_overflow_is_the_classes_of_its_recursion() -> None:
    add, mul = "tvm::sym::Simplifier::VisitAdd(x)", "tvm::sym::Simplifier::VisitMul(x)"
    one = crashed("a.B", "tvm::sym::Helper::Top(x)", add, mul, add, mul, stack_overflow=True)
    other = crashed("a.B", mul, mul, add, stack_overflow=True)
    assert crash(one) == crash(other)
    assert crash(one) != crash(crashed("a.B", add, mul, add, mul))
    assert crash(one) != crash(
        crashed("a.B", add, "tvm::sym::Other::F(x)", add, "tvm::sym::Other::F(x)", stack_overflow=True)
    )


def test_what_recurses_without_a_name_counts_where_nothing_has_one() -> None:
    visit, add, mul = "tvm::ObjectVisitor::Visit(x)", "libtvm.so+0x1", "libtvm.so+0x2"
    named = "tvm::tirx::Pass::F(x)"
    one = crashed("a.B", add, visit, named, add, visit, named, stack_overflow=True)
    assert crash(one) == crash(crashed("a.B", visit, mul, named, mul, named, stack_overflow=True))
    assert crash(one) != crash(crashed("a.C", visit, mul, named, mul, named, stack_overflow=True))
    bare = crashed("a.B", add, visit, mul, add, visit, mul, stack_overflow=True)
    assert crash(bare) == crash(crashed("a.B", mul, add, visit, mul, add, stack_overflow=True)) != crash(one)


def test_a_recursion_of_the_analyzer_alone_is_of_no_pass() -> None:
    frames = ("tvm::sym::Simplifier::VisitAdd(x)",) * 4
    assert crash(crashed("a.B", *frames, stack_overflow=True)) == crash(crashed("a.C", *frames, stack_overflow=True))


def test_a_hang_is_the_innermost_function_that_it_never_leaves() -> None:
    def hang(pass_name: str, *functions: str) -> object:
        return cause_of("hang", replace(crashed(pass_name, *functions), exit=Exit.TIMEOUT))

    first = hang("a.B", VISIT, NARROW, "tvm::tirx::Outer::F(x)")
    assert first is not None and first == hang("a.B", NARROW) != hang("a.C", NARROW)
    assert first != hang("a.B", "tvm::tirx::Outer::F(x)")
    assert hang("a.B", SIMPLIFY) == hang("a.C", SIMPLIFY)
    assert hang("a.B") is None


def test_wrong_code_is_what_the_guilty_pass_does() -> None:
    """The statements that it takes away count, not what it puts in their place."""
    deeds = [("value", "-tirx.For of kind 2"), ("value", "-tirx.For of kind 2", "+tirx.For of kind 0")]
    first = cause_of("wrong-code", wrong("value"), "tirx.Vectorize", deed=deeds[0])
    assert first is not None
    assert first == cause_of("wrong-code", wrong("unwritten", "both", "int32"), "tirx.Vectorize", deed=deeds[1])
    seen = wrong("value")
    assert seen.results is not None
    noted = replace(seen, results=replace(seen.results, deed=deeds[0]))
    assert first == cause_of("wrong-code", noted, "Vectorize")
    for chance in ("exceptional-value", "integer-overflow"):
        assert first == cause_of("wrong-code", seen, "Vectorize", deed=(chance, *deeds[0][1:]))
    assert first != cause_of("wrong-code", seen, "Vectorize", deed=("out-of-bounds", *deeds[0][1:]))
    assert first != cause_of("wrong-code", seen, "Vectorize", deed=("value", "-tirx.AllocBuffer"))
    assert first != cause_of("wrong-code", seen, "Other", deed=deeds[0])


def test_wrong_code_of_a_schedule_is_its_primitive_and_what_is_wrong() -> None:
    seen = replace(wrong("value"), stage=Stage.MUTATE, pass_name="ReIndex", message="other values: A[0] is 1")
    other = replace(
        wrong("unwritten", dtype="int8"), stage=Stage.MUTATE, pass_name="ReIndex", message="other values: B"
    )
    first = cause_of("wrong-code", seen, marks=("read",))
    assert first == cause_of("wrong-code", other, marks=("read",))
    assert first != cause_of("wrong-code", other, marks=("write",))
    assert first != cause_of("wrong-code", replace(seen, message="uninitialised: A"), marks=("read",))
    beyond = [replace(seen, message=f"{outcome}: A") for outcome in ("block-domain", "out-of-bounds")]
    assert cause_of("wrong-code", beyond[0]) == cause_of("wrong-code", beyond[1]) != cause_of("wrong-code", seen)


def test_wrong_code_of_a_schedule_is_what_the_primitive_did_where_that_is_known() -> None:
    moved = replace(wrong("unwritten"), stage=Stage.MUTATE, pass_name="ReverseComputeAt", message="other values: A")
    chance = replace(moved, message="uninitialised: A")
    fewer, early = (cause_of("wrong-code", moved, slips=(slip,)) for slip in ("iterations", "order"))
    assert fewer == cause_of("wrong-code", chance, slips=("iterations",)) != early
    assert cause_of("wrong-code", moved) not in (fewer, early)
    ends = [cause_of("wrong-code", chance, slips=("order",), marks=(end,)) for end in ("read", "write")]
    assert ends == [early, early], "reindex puts what it makes in the wrong place at either end"


def test_a_wrong_index_is_one_cause_within_its_buffer_and_outside() -> None:
    seen = wrong("value")
    inside, outside = (
        cause_of("wrong-code", seen, "FlattenBuffer", deed=deed)
        for deed in (("value", "+tirx.DeclBuffer"), ("out-of-bounds",))
    )
    assert inside == outside != cause_of("wrong-code", seen, "FlattenBuffer", deed=("uninitialised",))


def test_a_primitive_that_makes_loops_of_another_width_is_one_cause_whatever_node_is_ill_typed() -> None:
    def ill_typed(name: str, rule: str, where: str) -> object:
        offence = Offence("types", name, rule, where)
        return cause_of("invalid-ir", Observation(Exit.OK, Stage.MUTATE, offences=(offence,)))

    cached = "Schedule.cache_index"
    first = ill_typed(cached, "axis", "axes of int64 for int32")
    assert first == ill_typed(cached, "operands", "Mul of int32 and int64")
    assert first != ill_typed(cached, "operands", "Mul of int32 and float32")
    assert first != ill_typed("Schedule.compute_at", "axis", "axes of int64 for int32")
    assert ill_typed("P", "axis", "axes of int64 for int32") != ill_typed("P", "operands", "Mul of int32 and int64")


def test_wrong_code_needs_a_guilty_pass_and_a_reduced_program() -> None:
    shape = shape_of(program("tirx.For", "tirx.BufferStore", "prim.Add"))
    assert cause_of("wrong-code", wrong("value")) is None
    assert cause_of("wrong-code", wrong("value"), "", shape) is None
    assert cause_of("wrong-code", wrong("value"), "tirx.Unroll") is None
    first = cause_of("wrong-code", wrong("value"), "tirx.Unroll", shape)
    assert first is not None
    assert first == cause_of("wrong-code", wrong("value", "both", "int32"), "tirx.Unroll", shape)
    assert first != cause_of("wrong-code", wrong("unwritten"), "tirx.Unroll", shape)
    assert first != cause_of("wrong-code", wrong("value"), "tirx.Other", shape)
    assert first != cause_of("wrong-code", wrong("value"), "tirx.Unroll", shape_of(program("tirx.For")))
    assert first == cause_of("wrong-code", wrong("value"), "tirx.Unroll", (*shape, "prim.Cast"))


def test_a_shape_is_the_kinds_of_nodes() -> None:
    text = program("tirx.For", "prim.Add", "prim.Add", "ir.IntImm", "ffi.Array", "tirx.BufferType", "s_tir.SBlock")
    assert shape_of(text) == ("arithmetic", "s_tir.SBlock", "tirx.For of kind 0")
    assert essence_of(text) == ("s_tir.SBlock",)
    made = {shape_of(json.dumps({"nodes": [{"type": "ir.Op", "data": f"tirx.{name}"}]})) for name in ("exp", "log")}
    assert made == {("intrinsic",)} and shape_of(program("prim.Max")) == shape_of(program("prim.Mul"))
    assert shape_of("") == shape_of("[3]") == shape_of('{"nodes": [3]}') == ()


def _of_gradient(operator: str, nature: str) -> Cause | None:
    """The cause of results that are wrong because of an operator."""
    found = wrong("optimised")
    assert found.results is not None and found.results.optimised.difference is not None
    differs = replace(found.results.optimised, difference=replace(found.results.optimised.difference, nature=nature))
    return cause_of("wrong-code", replace(found, results=replace(found.results, optimised=differs)), operator, ["x"])


def test_all_that_fails_on_the_gradient_of_an_operator_and_its_wrong_shape_are_one() -> None:
    raised, shaped = (Offence(NOT_KEPT, "gradient of where", rule, "words") for rule in (RAISES, WRONG_SHAPE))
    seen = [
        Observation(Exit.REJECTED, Stage.BUILD, f"E: {one.rule}", "LegalizeOps", origin=one) for one in (raised, shaped)
    ]
    assert (
        cause_of("ice-on-valid", seen[0])
        == cause_of("ice-on-valid", seen[1])
        == _of_gradient("gradient of where", "shape")
    )
    assert _of_gradient("gradient of where", "value") not in (None, _of_gradient("gradient of where", "shape"))


def test_a_gradient_that_is_one_call_of_an_operator_is_that_operator() -> None:
    pooled = [_of_gradient(one, "value") for one in ("gradient of nn.max_pool2d", "grad.max_pool2d_backward")]
    assert pooled[0] == pooled[1] != _of_gradient("grad.take_backward", "value")
