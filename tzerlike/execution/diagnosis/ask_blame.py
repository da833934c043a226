"""Has children find out who is guilty of wrong results that only running more builds tells."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.effort import Effort
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Stage
from tzerlike.core.results import Ending, Ran, Results
from tzerlike.execution.diagnosis.ask import Call

_CHILDREN = 8
"""Children that may die over one case."""


def ask_blame(call: Call, job: str, case: Case, results: Results, limits: Limits, effort: Effort) -> Results:
    """Return the results of a case with who is guilty of them, as the job says that is there for its harness.

    The job lays down {"asks": name} before it runs a build, {"asks": name, "answer": ...} behind it, and in the end
    {"results": ...}. If its child dies of a run, that is the answer; if it dies of something else once it has run a
    build, that may be due to the run, and another child goes on with all answers. `results` are returned as they are
    where none comes to an end, as where memory runs out.
    """
    known: dict[str, Any] = {}
    for _ in range(_CHILDREN):
        item = {"case": case.to_json(), "effort": effort.to_json(), "results": results.to_json(), "known": known}
        records, death = call(job, item, limits)
        if found := [record["results"] for record in records if "results" in record]:
            return Results.from_json(found[-1])
        before = len(known)
        known |= {record["asks"]: record["answer"] for record in records if "answer" in record}
        if death is not None and death.stage is Stage.RUN and death.exit in (Exit.CRASH, Exit.TIMEOUT):
            known[records[-1]["asks"]] = asdict(Ran(Ending.DIED, death.message))
        if len(known) == before:
            break
    return results
