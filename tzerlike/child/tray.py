"""The memory that a worker, its runner and the runner's children share.

The worker lays a request down, the child notes each step before it takes it and lays its results
down; what stands there survives any death of the child.

    0      header: index of the case under way, ordinal of its stage, when the stage began
    64     name of the pass under way
    256    seconds per stage of the case under way
    384    the mutation under way in the worker: mutator and parent
    512    what is known so far of the results of the case under way: length, bytes
    4096   request: length, bytes
    ...    results: length and bytes of one record per finished case
"""

from __future__ import annotations

import json
import mmap
import struct
import time
from dataclasses import replace
from typing import Any

from tzerlike.observation import Stage
from tzerlike.outcome import Ran, Results

STAGES = tuple(Stage)
_ORDINAL = {stage: ordinal for ordinal, stage in enumerate(STAGES)}

_INDEX, _STAGE, _BEGAN = 0, 4, 8
_PASS, _PASS_SIZE = 64, 192
_SECONDS = 256
_MUTATION, _MUTATION_SIZE = 384, 128
_PARTIAL, _PARTIAL_SIZE = 512, 3584
_REQUEST, _REQUEST_SIZE = 4096, 16 << 20
_RESULTS, _RESULTS_SIZE = _REQUEST + _REQUEST_SIZE, 32 << 20


class Tray:
    """One shared mapping; made before any fork, so that every process of the family sees it."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, _RESULTS + _RESULTS_SIZE)
        self._write_at = _RESULTS + 4

    def lay_request(self, request: dict[str, Any]) -> None:
        """Write the request and clear everything that an earlier child left; ValueError when it does not fit."""
        text = json.dumps(request, ensure_ascii=False).encode()
        if len(text) > _REQUEST_SIZE - 4:
            raise ValueError(f"request of {len(text)} bytes")
        self.memory[:_MUTATION] = bytes(_MUTATION)
        struct.pack_into("<I", self.memory, _REQUEST, len(text))
        self.memory[_REQUEST + 4 : _REQUEST + 4 + len(text)] = text
        struct.pack_into("<I", self.memory, _RESULTS, 0)

    def request(self) -> dict[str, Any]:
        (length,) = struct.unpack_from("<I", self.memory, _REQUEST)
        data: dict[str, Any] = json.loads(self.memory[_REQUEST + 4 : _REQUEST + 4 + length])
        return data

    def begin_case(self, index: int) -> None:
        struct.pack_into(f"<{len(STAGES)}d", self.memory, _SECONDS, *([0.0] * len(STAGES)))
        struct.pack_into("<IId", self.memory, _INDEX, index, _ORDINAL[Stage.LOAD], time.perf_counter())
        struct.pack_into("<I", self.memory, _PARTIAL, 0)
        self.note_pass("")

    def enter_stage(self, stage: Stage) -> None:
        """Close the stage under way, adding its time, and enter `stage`."""
        now = time.perf_counter()
        ordinal, began = struct.unpack_from("<Id", self.memory, _STAGE)
        slot = _SECONDS + 8 * ordinal
        (spent,) = struct.unpack_from("<d", self.memory, slot)
        struct.pack_into("<d", self.memory, slot, spent + now - began)
        struct.pack_into("<Id", self.memory, _STAGE, _ORDINAL[stage], now)

    def note_pass(self, name: str) -> None:
        data = name.encode()[: _PASS_SIZE - 1]
        struct.pack_into(f"<B{len(data)}s", self.memory, _PASS, len(data), data)

    def note_mutation(self, mutator: str, iteration: int, draw: int, parent: str) -> None:
        """Said by the worker before it mutates: if TVM kills it, this is what it was doing."""
        data = f"{mutator[:30]} {iteration} {draw} {parent}".encode()[: _MUTATION_SIZE - 1]
        struct.pack_into(f"<B{len(data)}s", self.memory, _MUTATION, len(data), data)

    def clear_mutation(self) -> None:
        self.memory[_MUTATION] = 0

    def mutation(self) -> tuple[str, int, int, str] | None:
        """The mutation under way: mutator, iteration, draw, id of the parent; None between mutations."""
        length = self.memory[_MUTATION]
        if not length:
            return None
        mutator, iteration, draw, parent = self.memory[_MUTATION + 1 : _MUTATION + 1 + length].decode().split(" ")
        return mutator, int(iteration), int(draw), parent

    def note_results(self, results: Results) -> None:
        """Said by the child before it runs a build; cut down to verdict and rule where it is too long to keep."""
        data = json.dumps(results.to_json()).encode()
        if len(data) > _PARTIAL_SIZE - 4:
            short = replace(results, where=results.where[:256], reference=Ran(results.reference.ending))
            data = json.dumps(short.to_json()).encode()
        struct.pack_into(f"<I{len(data)}s", self.memory, _PARTIAL, len(data), data)

    def partial_results(self) -> Results | None:
        """What the child had noted of the case under way, or None."""
        (length,) = struct.unpack_from("<I", self.memory, _PARTIAL)
        if not length:
            return None
        return Results.from_json(json.loads(self.memory[_PARTIAL + 4 : _PARTIAL + 4 + length]))

    def case_index(self) -> int:
        return int(struct.unpack_from("<I", self.memory, _INDEX)[0])

    def stage(self) -> Stage:
        return STAGES[int(struct.unpack_from("<I", self.memory, _STAGE)[0])]

    def pass_name(self) -> str:
        length = self.memory[_PASS]
        return self.memory[_PASS + 1 : _PASS + 1 + length].decode(errors="replace")

    def seconds(self) -> dict[str, float]:
        values = struct.unpack_from(f"<{len(STAGES)}d", self.memory, _SECONDS)
        return {stage.value: value for stage, value in zip(STAGES, values, strict=True) if value}

    def add_result(self, record: dict[str, Any]) -> None:
        """Append one case's record; the count of records grows only when the record is whole.

        ValueError when it does not fit.
        """
        data = json.dumps(record, ensure_ascii=False).encode(errors="replace")
        end = self._write_at + 4 + len(data)
        if end > _RESULTS + _RESULTS_SIZE:
            raise ValueError(f"result of {len(data)} bytes")
        struct.pack_into("<I", self.memory, self._write_at, len(data))
        self.memory[self._write_at + 4 : end] = data
        self._write_at = end
        (count,) = struct.unpack_from("<I", self.memory, _RESULTS)
        struct.pack_into("<I", self.memory, _RESULTS, count + 1)

    def results(self) -> list[dict[str, Any]]:
        (count,) = struct.unpack_from("<I", self.memory, _RESULTS)
        records = []
        at = _RESULTS + 4
        for _ in range(count):
            (length,) = struct.unpack_from("<I", self.memory, at)
            records.append(json.loads(self.memory[at + 4 : at + 4 + length]))
            at += 4 + length
        return records
