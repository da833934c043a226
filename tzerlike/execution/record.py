"""A child's record of a case, as its worker reads it: by a schema, since compiled code may have overwritten it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from tzerlike.core.errors import Fault, UserError
from tzerlike.core.observation import Exit, Offence, Stage
from tzerlike.core.results import Rejection, Results
from tzerlike.processes.channel import Garbled

_Count = Annotated[int, msgspec.Meta(ge=0)]
_Seconds = Annotated[float, msgspec.Meta(ge=0)]


class ChildRecord(msgspec.Struct, frozen=True):
    """The fields of `tzerlike.execution.stages.run_case` and of `tzerlike.processes.served`; `log` is the part of the
    coverage log that is the case's. Of a fault, `kind` and `frames` are those of `tzerlike.core.errors.Fault`."""

    exit: Exit
    stage: Stage = Stage.LOAD
    message: str = ""
    pass_name: str = msgspec.field(name="pass", default="")
    backtrace: tuple[str, ...] = ()
    raised_at: str = ""
    seconds: dict[str, _Seconds] = {}
    pass_blocks: tuple[_Count, ...] = ()
    peak_memory: _Count = 0
    log: tuple[_Count, _Count] = (0, 0)
    sources: tuple[str, ...] = ()
    computes: str = ""
    results: dict[str, Any] | None = None
    rejection: dict[str, Any] | None = None
    offences: tuple[Offence, ...] = ()
    origin: Offence | None = None
    kind: str = ""
    frames: tuple[str, ...] = ()

    @property
    def fault(self) -> Fault:
        """The fault of a record whose exit that is."""
        return Fault(self.kind, self.frames, self.message, self.stage.value)


def read_child_record(data: Mapping[str, Any]) -> ChildRecord:
    """Garbled when `data` is no record."""
    try:
        return msgspec.convert(data, ChildRecord)
    except msgspec.ValidationError as error:
        raise Garbled(f"a record of a child: {error}") from error


def read_results(record: ChildRecord) -> tuple[Results | None, Rejection | None]:
    """What is known of results, and of a rejection; Garbled when that is not what it should be."""
    try:
        return (
            None if record.results is None else Results.from_json(record.results),
            None if record.rejection is None else Rejection.from_json(record.rejection),
        )
    except (UserError, ValueError) as error:
        raise Garbled(f"a record of a child: {error}") from error
