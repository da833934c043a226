"""Runs one case in a child that reads freed memory of a library, and prints what was observed: argv is the library."""

import ctypes
import json
import os
import socket
import sys

from tzerlike.core.case import Case
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Stage
from tzerlike.coverage import NoCoverage
from tzerlike.execution.executor import ForkExecutor
from tzerlike.oracles.crash import judge_crash
from tzerlike.processes.lane import Lane
from tzerlike.processes.runner import serve_runner

library = ctypes.CDLL(sys.argv[1])


def bad_access(case, channel, *rest):
    channel.enter_stage(Stage.BUILD)
    library.stale(3)
    return {"exit": "ok", "pass_blocks": []}


lane = Lane.prepare(0, NoCoverage(), bad_access)
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if os.fork() == 0:
    ours.close()
    serve_runner(lane, theirs)
theirs.close()
case = Case("{}")
(seen,) = ForkExecutor(lane, ours, Limits()).run([case])
finding = judge_crash(case, seen)
sys.stdout.write(json.dumps({**seen.to_json(), "parts": finding.parts if finding else None}))
