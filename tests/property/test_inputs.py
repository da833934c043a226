"""Arguments: deterministic, exact in memory, the same after a bundle, and none for what cannot be called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

from tzerlike.core.dtypes import parse
from tzerlike.core.errors import UserError
from tzerlike.execution.compare.inputs import SCHEMES, BufferParameter, Inputs, inputs_for, pack_inputs, unpack_inputs
from tzerlike.execution.compare.storage import BufferCell, representable
from tzerlike.systems import tvm_api

DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float32x4", "int8x4", "bfloat16x2",
)  # fmt: skip


def function(parameters: str, header: str = "") -> Any:
    text = (
        f"# from tvm.script import tirx as T\n@T.prim_func\ndef main({parameters}):\n    {header or 'T.evaluate(0)'}\n"
    )
    return tvm_api.parse_script(text)


def stored(directory: Path, data: bytes) -> Path:
    path = directory / "inputs.npz"
    path.write_bytes(data)
    return path


def same(one: Inputs, other: Inputs) -> bool:
    pairs = zip(one.arguments, other.arguments, strict=True)
    return one.parameters == other.parameters and all(numpy.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_survive_memory_and_the_archive(tmp_path: Path, dtype: str) -> None:
    func = function(f'A: T.Buffer((3, 2), "{dtype}"), B: T.Buffer((), "{dtype}"), C: T.Buffer((0, 4), "{dtype}")')
    drawn = list(inputs_for(func, 5))
    assert len(drawn) == 4
    for inputs in drawn:
        for parameter, argument in zip(inputs.parameters, inputs.arguments, strict=True):
            assert isinstance(parameter, BufferParameter)
            values = numpy.asarray(argument)
            assert values.shape == parameter.logical_shape
            cell = BufferCell(values, parameter.dtype, parameter.shape, parameter.strides)
            assert str(cell.tensor.dtype) == dtype
            assert tuple(cell.tensor.shape) == parameter.shape
            assert numpy.array_equal(cell.values(), values), "representable, so nothing is lost"
            assert cell.values().dtype == values.dtype
        again = unpack_inputs(stored(tmp_path, pack_inputs(inputs)), func)
        assert again is not None
        assert same(again, inputs)
        assert again.scheme == inputs.scheme


def test_the_same_seed_gives_the_same_inputs_and_another_others() -> None:
    func = function('A: T.Buffer((8, 8), "float32"), n: T.int32')
    one, again, other = ([*inputs_for(func, seed)] for seed in (3, 3, 4))
    assert all(same(a, b) for a, b in zip(one, again, strict=True))
    assert not all(same(a, b) for a, b in zip(one, other, strict=True))
    assert len({inputs.scheme for inputs in one}) == len(one)


def test_floats_of_most_schemes_are_few_bits_and_none_is_exceptional() -> None:
    func = function('A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float8_e4m3fn"), x: T.float32')
    for seed in range(40):
        for inputs in inputs_for(func, seed):
            values = numpy.asarray(inputs.arguments[0])
            assert numpy.isfinite(values).all()
            if inputs.scheme != "reals":
                dtype = parse("float8_e4m3fn")
                assert dtype is not None
                assert numpy.array_equal(representable(values, dtype), values), "exact in eight bits"


@pytest.mark.parametrize("dtype", [d for d in DTYPES if "int" in d])
def test_integers_are_in_range(dtype: str) -> None:
    kind = parse(dtype)
    assert kind is not None
    for inputs in inputs_for(function(f'A: T.Buffer((64,), "{dtype}")'), 1):
        values = numpy.asarray(inputs.arguments[0])
        scheme = SCHEMES[inputs.scheme]
        assert values.min() >= max(kind.low, scheme.least)
        assert values.max() <= min(kind.high, scheme.greatest)


def test_shape_variables_fit_each_other_and_the_scalar_of_their_name() -> None:
    func = tvm_api.parse_script(
        "# from tvm.script import tirx as T\n"
        "@T.prim_func\n"
        "def main(a: T.handle, b: T.handle, m: T.int32):\n"
        "    n = T.int32()\n"
        '    A = T.match_buffer(a, (n, m), "float16")\n'
        '    B = T.match_buffer(b, (n * 2 + 1,), "float16")\n'
        "    T.evaluate(0)\n"
    )
    sizes = set()
    for seed in range(12):
        inputs = next(iter(inputs_for(func, seed)))
        a, b = (numpy.asarray(inputs.arguments[i]) for i in (0, 1))
        assert a.shape == ((b.shape[0] - 1) // 2, inputs.arguments[2])
        sizes.add(a.shape)
    assert len(sizes) > 3


def test_strides_of_a_buffer_hold_in_memory() -> None:
    (strided,) = next(iter(inputs_for(function('A: T.Buffer((4, 4), "float32", strides=(8, 1))'), 1))).parameters
    assert isinstance(strided, BufferParameter)
    values = numpy.arange(16.0).reshape(4, 4)
    cell = BufferCell(values, strided.dtype, strided.shape, strided.strides)
    assert tuple(cell.tensor.strides) == (8, 1)
    assert numpy.array_equal(cell.values(), values)


@pytest.mark.parametrize(
    "parameters",
    [
        "a: T.handle",
        'A: T.Buffer((4096, 4096), "int8")',
        'A: T.Buffer((4,), "int4")',
        'A: T.Buffer((0, 2147483647, 2147483647), "int8")',
        f'A: T.Buffer(({"1, " * 40}), "int8")',
        'A: T.Buffer((4, 4), "float32", strides=(1 << 40, 1))',
    ],
)
def test_what_cannot_be_called_gets_no_inputs(parameters: str) -> None:
    assert list(inputs_for(function(parameters), 1)) == []


def test_a_write_around_a_buffer_is_noticed_and_reset_keeps_to_the_buffer() -> None:
    dtype = parse("int8")
    assert dtype is not None
    cell = BufferCell(numpy.arange(8), dtype, (8,), ())
    whole = numpy.from_dlpack(cell.tensor)
    whole[...] = 0
    assert cell.intact()
    assert not cell.values().any()
    cell.reset()
    assert list(cell.values()) == list(range(8))
    beyond = numpy.lib.stride_tricks.as_strided(whole, (9,), (1,), writeable=True)
    beyond[8] = 1
    assert not cell.intact()


@pytest.mark.parametrize("data", [b"", b"nothing", pack_inputs(Inputs("small", (), ()))])
def test_an_archive_that_does_not_fit_is_named(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(UserError, match=r"inputs\.npz"):
        unpack_inputs(stored(tmp_path, data), function('A: T.Buffer((3,), "int8")'))


def test_an_archive_of_another_shape_is_named(tmp_path: Path) -> None:
    inputs = next(iter(inputs_for(function('A: T.Buffer((3,), "int8")'), 1)))
    with pytest.raises(UserError, match="argument0 does not fit the parameter A"):
        unpack_inputs(stored(tmp_path, pack_inputs(inputs)), function('A: T.Buffer((4,), "int8")'))
