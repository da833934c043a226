"""The cost of judging results: CPU time of the children on the cases of a campaign's corpus, by effort.

usage: result_costs.py CAMPAIGN [CASES]

It is CPU time, since that is the same on a busy machine; ratios are against compiling alone, at the same LLVM level.
"""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import replace
from pathlib import Path

from tzerlike.campaign.directory import CampaignDir
from tzerlike.core.case import Case
from tzerlike.core.effort import Check, Effort
from tzerlike.core.limits import Limits
from tzerlike.coverage import NoCoverage
from tzerlike.execution.executor import ForkExecutor
from tzerlike.execution.stages import run_case, touch
from tzerlike.execution.warm_up import warm_up
from tzerlike.processes.channel import Channel
from tzerlike.processes.lane import Lane
from tzerlike.processes.runner import serve_runner

LEVELS = {"LLVM level 0": '{"kind": "llvm", "opt-level": 0}', "LLVM level 3": "llvm"}
EFFORTS = {
    "compile": Effort(),
    "and rejections": Effort(frozenset({Check.REJECTIONS})),
    "and results": Effort(frozenset({Check.REJECTIONS, Check.RESULTS})),
}
TICK = os.sysconf("SC_CLK_TCK")


def children_seconds(pid: int) -> float:
    """Processor time of the children of a process that it has reaped."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / TICK


def executor_for(effort: Effort, first: Case) -> tuple[ForkExecutor, int]:
    lane = Lane.prepare(0, NoCoverage(), run_case, prelude=lambda: touch(first))
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        ours.close()
        serve_runner(lane, theirs)
    theirs.close()
    return ForkExecutor(lane, ours, Limits(30.0, 4 << 30), effort), pid


def main() -> None:
    directory = CampaignDir(Path(sys.argv[1]))
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 150
    warm_up(Channel())
    cases = [directory.load_case(case_id).case for case_id in sorted(directory.corpus_ids())[:count]]
    for level, target in LEVELS.items():
        print(f"{level}, {len(cases)} cases: ms of processor time a case, and the same against compiling alone")
        alone = 0.0
        for name, effort in EFFORTS.items():
            executor, pid = executor_for(effort, cases[0])
            executor.run([replace(case, target=target) for case in cases[:3]])
            before = children_seconds(pid)
            stages: dict[str, float] = {}
            for case in cases:
                for stage, seconds in executor.run([replace(case, target=target)])[0].seconds.items():
                    stages[stage] = stages.get(stage, 0.0) + seconds
            spent = (children_seconds(pid) - before) / len(cases) * 1000
            alone = alone or spent
            total = sum(stages.values())
            shares = "  ".join(
                f"{stage} {seconds / total:.0%}" for stage, seconds in stages.items() if seconds > 0.01 * total
            )
            print(f"  {name:15} {spent:7.2f}  {spent / alone:5.2f}   {shares}")


if __name__ == "__main__":
    main()
