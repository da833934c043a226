"""The plain values that describe one test: no live TVM object, no pickle.

Textual grammar of a pass, and of a sequence of them::

    pass     = name [ "{" argument { ", " argument } "}" ]
    argument = key "=" json-value
    sequence = pass { "; " pass }

for example ``s_tir.ThreadSync{storage_scope="shared"}; tirx.UnrollLoop``.
Printing is canonical, and parsing what was printed gives the same value back.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tzerlike.core.errors import UserError
from tzerlike.core.schema import Scalar as Scalar
from tzerlike.core.schema import Schema, Text, Whole, converted
from tzerlike.core.untrusted import PROGRAM_BYTES

TIR = "tir"
"""The harness of tensor IR."""

GRAPH = "graph"
"""The harness of whole models."""

PIPELINES = ("default", "none", "tiles")
"""What may run after the passes of a case; see ContextConfig."""

PASSES = 10_000
"""Passes of a case at most."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


def check_seed(seed: int, name: str = "seed") -> None:
    """ValueError, with `name` in it, for a seed that 64 bits do not hold: msgspec's own bounds end at 63."""
    if not -(1 << 63) <= seed < 1 << 64:
        raise ValueError(f"{name} is out of range")


def canonical_json(value: object) -> str:
    """Return the one text of a JSON value: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def content_hash(text: str) -> str:
    """Return the sha256 of `text` in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class PassSpec:
    """A pass with concrete arguments; names are those of TVM's Python signatures.

    `name` carries its namespace, `tirx.UnrollLoop` or `s_tir.ThreadSync`; `args`
    is sorted by key.
    """

    name: str
    args: tuple[tuple[str, Scalar], ...] = ()

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"not a pass name: {self.name!r}")
        for key, value in self.args:
            if not _NAME.fullmatch(key):
                raise ValueError(f"not an argument name: {key!r}")
            if value is not None and not isinstance(value, bool | int | float | str):
                raise ValueError(f"not a scalar argument: {key}={value!r}")
        object.__setattr__(self, "args", tuple(sorted(self.args, key=lambda item: item[0])))

    def __str__(self) -> str:
        if not self.args:
            return self.name
        return self.name + "{" + ", ".join(f"{k}={json.dumps(v)}" for k, v in self.args) + "}"


def print_sequence(passes: tuple[PassSpec, ...]) -> str:
    """Return the text of a pass sequence; the empty sequence is the empty string."""
    return "; ".join(map(str, passes))


def parse_sequence(text: str) -> tuple[PassSpec, ...]:
    """Parse the grammar of this module.

    Raises UserError with the position of the first character that does not fit.
    """
    decoder = json.JSONDecoder()
    passes: list[PassSpec] = []
    position = 0

    def ahead() -> str:
        """The next character that is no space, "" at the end."""
        nonlocal position
        while text[position : position + 1].isspace():
            position += 1
        return text[position : position + 1]

    def name(what: str) -> str:
        nonlocal position
        ahead()
        match = _NAME.match(text, position)
        if match is None:
            raise UserError(f"pass sequence: expected {what} at character {position + 1} of {text!r}")
        position = match.end()
        return match.group()

    def symbol(expected: str) -> str:
        nonlocal position
        if not ahead() or ahead() not in expected:
            wanted = " or ".join(repr(c) for c in expected)
            raise UserError(f"pass sequence: expected {wanted} at character {position + 1} of {text!r}")
        position += 1
        return text[position - 1]

    while ahead():
        pass_name = name("a pass name")
        args: dict[str, Scalar] = {}
        if ahead() == "{":
            symbol("{")
            closing = symbol("}") if ahead() == "}" else ","
            while closing == ",":
                key = name("an argument name")
                symbol("=")
                ahead()
                try:
                    value, position = decoder.raw_decode(text, position)
                except json.JSONDecodeError as error:
                    raise UserError(
                        f"pass sequence: the value of {key!r} at character {position + 1} is not JSON"
                    ) from error
                if key in args:
                    raise UserError(f"pass sequence: argument {key!r} of {pass_name} is given twice")
                if isinstance(value, list | dict):
                    raise UserError(f"pass sequence: the value of {key!r} must be a number, string, bool or null")
                args[key] = value
                closing = symbol(",}")
        passes.append(PassSpec(pass_name, tuple(sorted(args.items()))))
        if ahead():
            symbol(";")
    return tuple(passes)


@dataclass(frozen=True, slots=True)
class ContextConfig:
    """The PassContext a case is built under.

    `options` are PassContext configuration entries (`tirx.disable_assert`, ...), sorted by key. `pipeline` says
    what runs after the case's own passes: "default", the target's lowering pipeline, or "none", where
    the passes are the whole lowering themselves and only finalisation and code generation follow; "tiles" is the same
    for a program in TileLang's dialect, whose code generation is its own.
    """

    opt_level: int = 4
    options: tuple[tuple[str, Scalar], ...] = ()
    disabled_passes: tuple[str, ...] = ()
    pipeline: str = "default"

    def __post_init__(self) -> None:
        if self.pipeline not in PIPELINES:
            raise ValueError(f"not a pipeline: {self.pipeline!r}; one of {', '.join(PIPELINES)}")
        object.__setattr__(self, "options", tuple(sorted(self.options, key=lambda item: item[0])))

    def enabled(self, passes: Sequence[PassSpec]) -> tuple[PassSpec, ...]:
        """Those of a pipeline of TVM's that run; a pass of the case's own runs even if it is disabled."""
        return tuple(spec for spec in passes if spec.name not in self.disabled_passes)

    def to_json(self) -> dict[str, Any]:
        return {
            "opt_level": self.opt_level,
            "options": dict(self.options),
            "disabled_passes": list(self.disabled_passes),
            "pipeline": self.pipeline,
        }


@dataclass(frozen=True, slots=True)
class Case:
    """One test: a program, the passes that run on it, and how it is built and fed.

    `ir` is the text of the program as its harness has it, for tensor IR that of `tvm_api.dump_ir` (canonical JSON of an
    IRModule whose entry is `main`); `target` is a target kind or its JSON; `input_seed` names the inputs. `id` is the
    sha256 of it all.
    """

    ir: str
    passes: tuple[PassSpec, ...] = ()
    config: ContextConfig = ContextConfig()
    target: str = "llvm"
    input_seed: int = 0
    harness: str = TIR
    _id: str = field(default="", init=False, repr=False, compare=False)

    @property
    def id(self) -> str:
        if not self._id:
            # Many cases are made that nobody ever asks for it, of programs that are long.
            object.__setattr__(self, "_id", content_hash(canonical_json(self.to_json())))
        return self._id

    def to_json(self) -> dict[str, Any]:
        return CASE.stamped(
            {
                "ir": self.ir,
                "passes": [{"name": p.name, "args": dict(p.args)} for p in self.passes],
                "config": self.config.to_json(),
                "target": self.target,
                "input_seed": self.input_seed,
                # Files of before there were others name none.
                **({} if self.harness == TIR else {"harness": self.harness}),
            }
        )

    @classmethod
    def from_json(cls, data: object) -> Case:
        """Build a case from parsed JSON.

        Raises UserError that names the first field that is missing, of the wrong type or out of bounds.
        """
        stored = CASE.of(data)
        config = stored.config
        try:
            case = cls(
                ir=stored.ir,
                passes=tuple(PassSpec(one.name, tuple(sorted(one.args.items()))) for one in stored.passes),
                config=ContextConfig(
                    config.opt_level, tuple(config.options.items()), config.disabled_passes, config.pipeline
                ),
                target=stored.target,
                input_seed=stored.input_seed,
                harness=stored.harness,
            )
            # Text and numbers that are in no canonical JSON show only here.
            _ = case.id
        except (ValueError, UnicodeError) as error:
            raise UserError(f"case: {error}") from error
        return case


class _StoredPass(msgspec.Struct):
    name: Text
    args: dict[Text, Scalar]


class _StoredConfig(msgspec.Struct):
    opt_level: Annotated[int, Meta(ge=-100, le=100)]
    options: dict[Text, Scalar]
    disabled_passes: tuple[Text, ...]
    pipeline: Text


class _StoredCase(msgspec.Struct):
    """A case as its file has it."""

    ir: Annotated[str, Meta(max_length=PROGRAM_BYTES)]
    passes: Annotated[list[_StoredPass], Meta(max_length=PASSES)]
    config: _StoredConfig
    target: Text
    input_seed: int
    harness: Text = TIR

    def __post_init__(self) -> None:
        check_seed(self.input_seed, "input_seed")


def _with_pipeline(data: dict[str, Any]) -> dict[str, Any]:
    """Version 1 had no `config.pipeline`: it was always "default"."""
    config = data.get("config")
    return {**data, "config": {**config, "pipeline": "default"}} if isinstance(config, dict) else data


CASE = Schema(_StoredCase, "case", version=2, older={1: _with_pipeline})


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a case comes from: a seed by name, or a parent with the mutator that made it."""

    origin: Text
    parent: Text | None = None
    mutator: Text | None = None
    worker: Whole = 0
    iteration: Whole = 0
    generation: Whole = 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Provenance:
        """Build from parsed JSON; raises UserError that names the faulty field."""
        return converted(data, cls, "provenance")
