"""The generator: its tables are complete, what it makes has the type asked for, and defined mode keeps its word."""

import subprocess
import sys
from random import Random

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.left_out import EXCLUDED_NODES, EXCLUDED_OPS, EXCLUDED_PREFIXES, IMPLIED_NODES, STRUCTURAL, covered
from tzerlike.mutators import MutationEnv, make_mutators
from tzerlike.mutators.expressions import EXPRESSIONS, result_interval
from tzerlike.mutators.generate import fill, make_generator
from tzerlike.mutators.generator import Value
from tzerlike.mutators.intrinsics import INTRINSICS
from tzerlike.mutators.statements import STATEMENTS, evaluation
from tzerlike.systems import tvm_api
from tzerlike.systems.tvm_api import tirx, tvm, tvm_ffi
from tzerlike.testing import sample_functions
from tzerlike.tir import dtypes
from tzerlike.tir.interpreter import interpret
from tzerlike.tir.node import dtype_of, seq
from tzerlike.tir.scope import scope_at
from tzerlike.tir.tree import Kind, Tree

DTYPES = ["int8", "int32", "int64", "uint8", "uint32", "float16", "float32", "bfloat16", "bool", "int32x4", "float32x4"]


def ancestors(name: str) -> list[str]:
    info, found = tvm_ffi.core._lookup_or_register_type_info_from_type_key(name), []
    while info is not None:
        found.append(info.type_key)
        info = info.parent_type_info
    return found


def installed_nodes() -> list[str]:
    """The type keys of all expressions and statements that the installed TVM registers."""
    found = []
    for name in map(str, tvm_ffi.get_global_func("ffi.GetRegisteredTypeKeys")()):
        if name.startswith(("ir.", "prim.", "tirx.", "s_tir.", "te.", "relax.", "sym.")):
            try:
                above = ancestors(name)
            except (TypeError, ValueError):
                continue
            if "ir.Expr" in above or "tirx.Stmt" in above:
                found.append(name)
    return found


def test_every_node_type_is_in_a_table_or_excluded_with_a_reason():
    made = {maker.node for maker in EXPRESSIONS} | {maker.node for maker in STATEMENTS} | set(IMPLIED_NODES)
    prefixes = tuple(name[:-1] for name in EXCLUDED_NODES if name.endswith("*"))
    unknown = [n for n in installed_nodes() if n not in made and n not in EXCLUDED_NODES and not n.startswith(prefixes)]
    assert unknown == []
    assert not made & set(EXCLUDED_NODES)
    assert made <= set(installed_nodes())


def test_every_intrinsic_is_in_a_table_or_excluded_with_a_reason():
    installed = {str(name) for name in tvm.ir.Op.list_op_names()}
    assert [name for name in sorted(installed) if not covered(name)] == []
    listed = {entry.op for entry in INTRINSICS} | set(STRUCTURAL) | set(EXCLUDED_OPS)
    assert listed <= installed
    assert not set(EXCLUDED_OPS) & ({entry.op for entry in INTRINSICS} | set(STRUCTURAL))
    assert all(any(name.startswith(prefix) for name in installed) for prefix in EXCLUDED_PREFIXES)


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(st.integers(0, 1 << 32), st.sampled_from(DTYPES), st.integers(1, 30), st.booleans(), st.sampled_from([0, 1, 3]))
def test_an_expression_has_the_dtype_and_scope_of_its_hole(seed, text, size, defined, number):
    func = sample_functions()[number]
    tree = Tree(func)
    rng = Random(seed)
    site = rng.choice(tree.statements()[1:])
    generator = make_generator(tree, rng, "llvm", defined)
    value = generator.expr(scope_at(tree, site), dtypes.parse(text), size)
    assert dtype_of(value.node) == text
    child = tree.replace(site, seq([tirx.Evaluate(value.node), site.node]))
    assert tvm_api.well_formed(tvm_api.module_of(child))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 1 << 32), st.booleans(), st.sampled_from([0, 1, 2, 3]))
def test_every_hole_can_be_filled_or_says_no(seed, defined, number):
    tree = Tree(sample_functions()[number])
    rng = Random(seed)
    site = rng.choice([s for s in tree.sites[1:] if s.kind is Kind.EXPR])
    made = fill(make_generator(tree, rng, "llvm", defined), tree, site, 8)
    assert made is None or dtype_of(made) == site.dtype


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1 << 32))
def test_a_prefetch_has_hints_that_llvm_takes_whatever_mutators_do_to_it(seed):
    func = sample_functions()[1]
    tree = Tree(func)
    rng = Random(seed)
    site = rng.choice(tree.statements()[1:])
    made = None
    while made is None or not prefetches(made):
        made = evaluation(make_generator(tree, rng, "llvm", False), scope_at(tree, site), 4)
    func = tree.replace(site, seq([made, site.node]))
    assert prefetch_hints_fit(func)
    for mutator in make_mutators(["constants", "insertion", "replacement", "deletion"]):
        child = mutator(func, rng, MutationEnv(defined_weight=0.0))
        assert child is None or prefetch_hints_fit(child)


def prefetches(node):
    return [c for c in found_in(node, tvm.ir.Call) if getattr(c.op, "name", "") == "tirx.prefetch"]


def found_in(node, kind):
    seen = []
    tvm_api.structural_walk(node, ((kind, seen.append),))
    return seen


def prefetch_hints_fit(func):
    """LLVM's reference: read or write 0 or 1, locality 0 to 3, instructions or data 0 or 1."""
    return all(
        int(hint.value) in allowed
        for call in prefetches(func.body)
        for hint, allowed in zip(list(call.args)[1:], (range(2), range(4), range(2)), strict=True)
    )


SMALL = st.integers(-20, 20)


@given(
    st.sampled_from(["Add", "Sub", "Mul", "Min", "Max", "FloorDiv", "Div", "FloorMod", "Mod", "LShift", "RShift"]),
    SMALL,
    st.integers(0, 9),
    SMALL,
    st.integers(0, 5),
)
def test_intervals_hold_every_result(name, low, width, other, spread):
    operator = getattr(tirx, name)
    divides = name in ("FloorDiv", "Div", "FloorMod", "Mod")
    if divides:
        other = abs(other) + 1
    if name.endswith("Shift"):
        other, spread = abs(other) % 4, spread % 3
    left, right = Value(None, low, low + width), Value(None, other, other + spread)
    interval = result_interval(operator, left, right)
    assert interval is not None
    compute = {
        "Add": lambda a, b: a + b,
        "Sub": lambda a, b: a - b,
        "Mul": lambda a, b: a * b,
        "Min": min,
        "Max": max,
        "FloorDiv": lambda a, b: a // b,
        "Div": lambda a, b: abs(a) // b * (1 if a >= 0 else -1),
        "FloorMod": lambda a, b: a % b,
        "Mod": lambda a, b: abs(a) % b * (1 if a >= 0 else -1),
        "LShift": lambda a, b: a << b,
        "RShift": lambda a, b: a >> b,
    }[name]
    for a in range(low, low + width + 1):
        for b in range(other, other + spread + 1):
            assert interval[0] <= compute(a, b) <= interval[1]


@pytest.mark.long
@settings(max_examples=80, deadline=None)
@given(st.integers(0, 1 << 32))
def test_indices_of_defined_mode_are_in_bounds_whatever_the_loop_variables_are(seed):
    """Every index is read with, at all values of its variables."""
    func = sample_functions()[1]
    tree = Tree(func)
    rng = Random(seed)
    generator = make_generator(tree, rng, "llvm", True)
    site = rng.choice(tree.statements()[1:])
    scope = scope_at(tree, site)
    extent = rng.choice((1, 2, 4, 7, 16))
    index = generator.index(scope, extent, 8)
    memory = tirx.decl_buffer((extent,), "int32", "A", layout=None)
    out = tirx.decl_buffer((1,), "int32", "B", layout=None)
    body = tirx.BufferStore(out, tirx.BufferLoad(memory, [index]), [tirx.IntImm("int32", 0)])
    for variable in scope.variables:
        if variable.low is not None and variable.high is not None:
            span = tirx.IntImm("int32", variable.high - variable.low + 1)
            body = tirx.For(variable.var, tirx.IntImm("int32", variable.low), span, tirx.ForKind.SERIAL, body)
    judged = interpret(tirx.PrimFunc([memory, out], body), [numpy.zeros(extent, "int64"), numpy.zeros(1, "int64")])
    assert judged.rule in ("", "unsupported"), judged


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_children_are_the_same_in_every_process(hash_seed):
    program = (
        "from random import Random\n"
        "from tzerlike.systems import tvm_api\n"
        "from tzerlike.mutators import MutationEnv, make_mutators\n"
        "from tzerlike.testing import sample_functions\n"
        "functions = sample_functions()\n"
        "for mutator in make_mutators():\n"
        "    child = mutator(functions[0], Random(11), MutationEnv(donor=lambda: functions[1]))\n"
        "    print(mutator.name, child and tvm_api.dump_ir(tvm_api.module_of(child)))\n"
    )
    environment = {"PYTHONHASHSEED": hash_seed, "PATH": "/usr/bin:/bin"}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    functions = sample_functions()
    from tzerlike.mutators import MutationEnv, make_mutators

    here = []
    for mutator in make_mutators():
        child = mutator(functions[0], Random(11), MutationEnv(donor=lambda: functions[1]))
        here.append(f"{mutator.name} {child and tvm_api.dump_ir(tvm_api.module_of(child))}")
    assert run.stdout.splitlines() == "\n".join(here).splitlines()
