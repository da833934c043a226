"""Device source offered to a CUDA compiler in a child."""

from __future__ import annotations

from collections.abc import Sequence

from tzerlike.core.case import Case
from tzerlike.core.observation import Stage
from tzerlike.core.targets import arch_of_target
from tzerlike.execution.cuda.source import SourceRefused, due, first_refusal, runs_confined
from tzerlike.execution.cuda.toolchain import find_cuda_toolchain
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import RunContext
from tzerlike.systems.refusal import CompilerRefused


def offer_sources(sources: Sequence[str], case: Case, channel: Channel, around: RunContext) -> list[str]:
    """Have the device source of a case compiled where a compiler for it is at hand; CompilerRefused with its complaint.

    Returns the sources that are to be compiled elsewhere, where the compiler is none for a confined child.
    """
    toolchain = find_cuda_toolchain() if sources else None
    if toolchain is None or not due(toolchain, sources, case.id, around.exploring):
        return []
    if not runs_confined(toolchain):
        return list(sources)
    channel.enter_stage(Stage.COMPILE_DEVICE)
    # It has all of the time for itself.
    around.paced(True)
    said = first_refusal(toolchain, sources, arch_of_target(case.target))
    if said is not None:
        raise CompilerRefused(SourceRefused(said))
    around.paced(True)
    return []
