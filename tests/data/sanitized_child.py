"""Runs one case in a child that reads freed memory of a library, and prints what was observed: argv is the library."""

import ctypes
import json
import os
import socket
import sys

from tzerlike.case import Case
from tzerlike.coverage import NoCoverage
from tzerlike.executor import served
from tzerlike.executor.execute import ForkExecutor
from tzerlike.executor.lane import Lane
from tzerlike.executor.runner import serve_runner
from tzerlike.limits import Limits
from tzerlike.observation import Stage
from tzerlike.oracles.crash import judge_crash

library = ctypes.CDLL(sys.argv[1])


def bad_access(case, tray, *rest):
    tray.enter_stage(Stage.BUILD)
    library.stale(3)
    return {"exit": "ok", "pass_blocks": []}


served.run_case = bad_access
lane = Lane.prepare(0, NoCoverage())
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if os.fork() == 0:
    ours.close()
    serve_runner(lane, theirs)
theirs.close()
case = Case("{}")
(seen,) = ForkExecutor(lane, ours, Limits()).run([case])
finding = judge_crash(case, seen)
sys.stdout.write(json.dumps({**seen.to_json(), "parts": finding.parts if finding else None}))
