"""Has a child walk along the passes of a case, and finds out what killed it if it died."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from tzerlike.core.case import Case
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Observation, Stage
from tzerlike.execution.diagnosis.walk import VERIFYING, Change, Walk


class Call(Protocol):
    """Does a job in a child; `ForkExecutor.call` is one."""

    def __call__(
        self, job: str, item: Mapping[str, Any], limits: Limits | None = None
    ) -> tuple[list[dict[str, Any]], Observation | None]: ...


_Ask = Callable[[Mapping[str, Any], Limits | None], tuple[list[dict[str, Any]], Observation | None]]


def ask_walk(
    call: Call,
    case: Case,
    limits: Limits | None = None,
    *,
    inputs: str = "",
    diff: bool = False,
    job: str = "walk",
) -> Walk | None:
    """Return the walk along the passes of `case`; None when the child died of something that is no pass.

    `inputs` is the path of an archive of inputs in place of those that the case's seed gives, or ""; `job` is what
    walks along cases of its harness.
    """
    ask = partial(call, job)
    records, death = _walked(ask, case, limits, inputs, None, diff)
    if (walk := _walk_in(records)) is not None:
        return walk
    marks = [record for record in records if "at" in record]
    if death is None or not marks or death.stage is not Stage.PASSES:
        return None
    begun = 1 + max((mark["at"] for mark in marks if mark["at"] is not None), default=-1)
    index, name = marks[-1]["at"], marks[-1]["name"]
    if index is None:
        return Walk(begun, Change.DIED, detail=_died_of(death.message))
    given = _walk_in(_walked(ask, case, limits, inputs, index, diff)[0])
    if given is not None and given.change in (Change.ILL_FORMED, Change.ILL_TYPED, Change.LEFTOVER):
        return replace(given, passes=begun)
    return Walk(begun, Change.DIED, (name,), index, _died_of(death.message), diff="" if given is None else given.diff)


def _died_of(message: str) -> str:
    """What a process died of. Only what ends in abort() says why; the last words of others are any warning before."""
    name = message.partition(" ")[0]
    return name if name.startswith("SIG") and name != "SIGABRT" else message


def _walked(
    ask: _Ask, case: Case, limits: Limits | None, inputs: str, stop: int | None, diff: bool
) -> tuple[list[dict[str, Any]], Observation | None]:
    """Ask until nothing dies of a verifier: a module that one dies of is as good as refused."""
    fatal: list[int] = []
    while True:
        item = {"case": case.to_json(), "inputs": inputs, "stop": stop, "diff": diff, "fatal": fatal}
        records, death = ask(item, limits)
        if death is None or not records or VERIFYING not in records[-1]:
            return records, death
        fatal.append(records[-1][VERIFYING])


def _walk_in(records: list[dict[str, Any]]) -> Walk | None:
    found = [record["walk"] for record in records if "walk" in record]
    return Walk.from_json(found[-1]) if found else None
