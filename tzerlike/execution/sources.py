"""Device source that a confined child has left, compiled in the worker, since the compiler is a program."""

from __future__ import annotations

from msgspec import structs

from tzerlike.core.case import Case
from tzerlike.core.observation import Exit, Stage
from tzerlike.core.targets import arch_of_target
from tzerlike.execution.cuda.source import SourceRefused, first_refusal
from tzerlike.execution.cuda.toolchain import find_cuda_toolchain
from tzerlike.execution.record import ChildRecord
from tzerlike.systems.refusal import CompilerRefused


def with_sources_compiled(case: Case, record: ChildRecord) -> ChildRecord:
    """Return the record of a case once the sources that its child left have been compiled: of a refusal if one is."""
    toolchain = find_cuda_toolchain() if record.sources else None
    said = None if toolchain is None else first_refusal(toolchain, record.sources, arch_of_target(case.target))
    if said is None:
        return record
    message = CompilerRefused(SourceRefused(said)).message
    return structs.replace(
        record, exit=Exit.REJECTED, stage=Stage.COMPILE_DEVICE, message=message, results=None, rejection=None
    )
