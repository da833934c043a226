"""The memory that a worker, its runner and the runner's children share.

The worker lays a request down, the child notes each step before it takes it and lays its results
down; what stands there survives any death of the child.

    0      header: index of the case under way, ordinal of its stage, when the stage began, checksum
    64     name of the pass under way
    256    seconds per stage of the case under way
    384    the mutation under way in the worker: mutator and parent
    512    the last sign of life of the worker: when, iteration, what it does
    640    what is known so far of the results of the case under way
    4096   request: length, bytes
    ...    results: one record per finished case

Compiled code runs in the child, and may write anywhere. So what is read after a child ran is a note with a checksum, or
checked otherwise; nothing that stands here makes the reader fail but by `Garbled`.
"""

from __future__ import annotations

import json
import math
import mmap
import struct
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tzerlike.core.errors import UserError
from tzerlike.core.observation import Stage
from tzerlike.core.results import Ran, Results

_STAGES = tuple(Stage)
_ORDINAL = {stage: ordinal for ordinal, stage in enumerate(_STAGES)}

_HEADER = struct.Struct("<IId")
_PASS, _PASS_SIZE = 64, 192
_SECONDS = 256
_MUTATION, _MUTATION_SIZE = 384, 128
_BEAT, _BEAT_SIZE = 512, 128
_PARTIAL, _PARTIAL_SIZE = 640, 3456
_REQUEST, _REQUEST_SIZE = 4096, 16 << 20
_RESULTS, _RESULTS_SIZE = _REQUEST + _REQUEST_SIZE, 32 << 20
_NOTE = struct.Struct("<II")

_LONGEST_STAGE = 1e6
"""Seconds: more than any stage takes."""


class Garbled(Exception):
    """What a child left in its channel is not what a child writes: something wrote over it."""


@dataclass(frozen=True, slots=True)
class Beat:
    """A worker's sign of life: when (`time.monotonic`, the same clock in every process), the iteration under way, and
    what is being done in it."""

    time: float
    iteration: int
    doing: str


class Channel:
    """One shared mapping; made before any fork, so that every process forked from it sees it."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, _RESULTS + _RESULTS_SIZE)
        self._write_at = _RESULTS + 4
        self._laid = b"{}"
        self._write_header(0, Stage.MUTATE, 0.0)

    def lay_request(self, request: dict[str, Any]) -> None:
        """Write the request and clear everything that an earlier child left; ValueError when it does not fit."""
        text = json.dumps(request, ensure_ascii=False).encode()
        if len(text) > _REQUEST_SIZE - 4:
            raise ValueError(f"request of {len(text)} bytes")
        self._laid = text
        self.lay_again()

    def lay_again(self) -> None:
        """Write the last request once more and clear everything that a child left."""
        text = self._laid
        self.begin_case(0)
        # No case yet: a child that dies now has not reached its case.
        self._write_header(0, Stage.MUTATE, 0.0)
        struct.pack_into("<I", self.memory, _REQUEST, len(text))
        self.memory[_REQUEST + 4 : _REQUEST + 4 + len(text)] = text
        struct.pack_into("<I", self.memory, _RESULTS, 0)

    def request(self) -> dict[str, Any]:
        (length,) = struct.unpack_from("<I", self.memory, _REQUEST)
        data: dict[str, Any] = json.loads(self.memory[_REQUEST + 4 : _REQUEST + 4 + length])
        return data

    def begin_case(self, index: int) -> None:
        struct.pack_into(f"<{len(_STAGES)}d", self.memory, _SECONDS, *([0.0] * len(_STAGES)))
        self._write_header(index, Stage.LOAD, time.perf_counter())
        self._write_note(_PARTIAL, b"")
        self.note_pass("")

    def enter_stage(self, stage: Stage) -> None:
        """Close the stage under way, adding its time, and enter `stage`; Garbled when none is under way."""
        now = time.perf_counter()
        index, before, began = self._header()
        slot = _SECONDS + 8 * _ORDINAL[before]
        (spent,) = struct.unpack_from("<d", self.memory, slot)
        struct.pack_into("<d", self.memory, slot, spent + now - began)
        self._write_header(index, stage, now)

    def note_pass(self, name: str) -> None:
        data = name.encode()[: _PASS_SIZE - 1]
        self.memory[_PASS : _PASS + 1 + len(data)] = bytes((len(data),)) + data

    def beat(self, iteration: int, doing: str) -> None:
        """Said by the worker as it goes on to something else: it is alive, and this is what it does."""
        text = doing.encode()[: _BEAT_SIZE - _NOTE.size - 16]
        self._write_note(_BEAT, struct.pack("<dq", time.monotonic(), iteration) + text)

    def renew_beat(self) -> None:
        """Said by the worker while it waits: it still does what it did."""
        last = self.last_beat()
        if last is not None:
            self.beat(last.iteration, last.doing)

    def last_beat(self) -> Beat | None:
        """The worker's last sign of life; None where there is none that reads."""
        data = self._note(_BEAT, _BEAT_SIZE)
        if data is None or len(data) < 16:
            return None
        when, iteration = struct.unpack_from("<dq", data)
        return Beat(when, iteration, data[16:].decode(errors="replace"))

    def note_mutation(self, mutator: str, iteration: int, draw: int, parent: str) -> None:
        """Said by the worker before it mutates: if TVM kills it, this is what it was doing."""
        data = f"{mutator[:30]} {iteration} {draw} {parent}".encode()
        self._write_note(_MUTATION, data[: _MUTATION_SIZE - _NOTE.size])

    def clear_mutation(self) -> None:
        self._write_note(_MUTATION, b"")

    def mutation(self) -> tuple[str, int, int, str] | None:
        """The mutation under way: mutator, iteration, draw, id of the parent; None between mutations."""
        words = (self._note(_MUTATION, _MUTATION_SIZE) or b"").decode(errors="replace").split(" ")
        if len(words) != 4:
            return None
        mutator, iteration, draw, parent = words
        return mutator, int(iteration), int(draw), parent

    def note_results(self, results: Results) -> None:
        """Said by the child before it runs a build; cut down to verdict and rule where it is too long to keep."""
        data = json.dumps(results.to_json()).encode()
        if len(data) > _PARTIAL_SIZE - _NOTE.size:
            short = replace(results, where=results.where[:256], baseline=Ran(results.baseline.ending))
            data = json.dumps(short.to_json()).encode()
        self._write_note(_PARTIAL, data)

    def partial_results(self) -> Results | None:
        """What the child had noted of the case under way, or None."""
        data = self._note(_PARTIAL, _PARTIAL_SIZE)
        try:
            return Results.from_json(json.loads(data)) if data else None
        except (UserError, ValueError):
            return None

    def case_index(self) -> int:
        """Garbled where something wrote over it."""
        return self._header()[0]

    def stage(self) -> Stage:
        """Garbled where something wrote over it."""
        return self._header()[1]

    def pass_name(self) -> str:
        length = self.memory[_PASS]
        return self.memory[_PASS + 1 : _PASS + 1 + length].decode(errors="replace")

    def seconds(self) -> dict[str, float]:
        values = struct.unpack_from(f"<{len(_STAGES)}d", self.memory, _SECONDS)
        sane = (value if math.isfinite(value) and 0 <= value < _LONGEST_STAGE else 0.0 for value in values)
        return {stage.value: value for stage, value in zip(_STAGES, sane, strict=True) if value}

    def add_result(self, record: dict[str, Any]) -> None:
        """Append one case's record; the count of records grows only when the record is whole.

        ValueError when it does not fit.
        """
        data = json.dumps(record, ensure_ascii=False).encode(errors="replace")
        end = self._write_at + _NOTE.size + len(data)
        if end > _RESULTS + _RESULTS_SIZE:
            raise ValueError(f"result of {len(data)} bytes")
        self._write_note(self._write_at, data)
        self._write_at = end
        (count,) = struct.unpack_from("<I", self.memory, _RESULTS)
        struct.pack_into("<I", self.memory, _RESULTS, count + 1)

    def results(self) -> Iterator[dict[str, Any]]:
        """The records of the child that ran last, one after the other; Garbled at one that something wrote over."""
        (count,) = struct.unpack_from("<I", self.memory, _RESULTS)
        at = _RESULTS + 4
        for _ in range(count):
            data = self._note(at, _RESULTS + _RESULTS_SIZE - at)
            try:
                record = json.loads(data) if data else None
            except (ValueError, RecursionError) as error:
                raise Garbled(f"a record of a child: {error}") from error
            if data is None or not isinstance(record, dict):
                raise Garbled("a record of a child has the wrong checksum")
            yield record
            at += _NOTE.size + len(data)

    def _write_header(self, index: int, stage: Stage, began: float) -> None:
        header = _HEADER.pack(index, _ORDINAL[stage], began)
        self.memory[: _HEADER.size + 4] = header + zlib.crc32(header).to_bytes(4, "little")

    def _header(self) -> tuple[int, Stage, float]:
        header = self.memory[: _HEADER.size]
        (checksum,) = struct.unpack_from("<I", self.memory, _HEADER.size)
        if zlib.crc32(header) != checksum:
            raise Garbled("the index and the stage of a case have the wrong checksum")
        index, ordinal, began = _HEADER.unpack(header)
        return index, _STAGES[ordinal], began

    def _write_note(self, at: int, data: bytes) -> None:
        """Write a note: length, checksum, bytes."""
        self.memory[at : at + _NOTE.size + len(data)] = _NOTE.pack(len(data), zlib.crc32(data)) + data

    def _note(self, at: int, room: int) -> bytes | None:
        """Read a note that may take up to `room` bytes; None where there is none that was written whole."""
        if room < _NOTE.size:
            return None
        length, checksum = _NOTE.unpack_from(self.memory, at)
        if length > room - _NOTE.size:
            return None
        data = self.memory[at + _NOTE.size : at + _NOTE.size + length]
        return data if zlib.crc32(data) == checksum else None
