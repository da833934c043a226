"""The process that runs kernels: `python -m tzerlike.execution.cuda.server TARGET`.

Started afresh, since CUDA does not survive a fork; whoever asks ends it when a kernel runs on without end. It reads one
JSON object a line from its standard input and answers on its standard output, first that it begins to run, then how
that ended. After a kernel that failed it ends by itself: what CUDA says from then on means nothing.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import Any, TextIO

from tzerlike.core.forks import die_with_parent
from tzerlike.execution.cuda.device import FAULT, RUNNING, TAINTED
from tzerlike.processes.forked import silence


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    die_with_parent(os.getppid())
    silence()
    # Not earlier: TVM talks while it is imported.
    from tzerlike.execution.cuda.run import compile_exactly, run_on_device, trial

    compile_exactly(sys.argv[1])
    fault = trial(sys.argv[1])
    _say(answers, {FAULT: fault})
    if fault:
        return
    for line in sys.stdin:
        item = json.loads(line)
        try:
            record = run_on_device(item, lambda: _say(answers, {RUNNING: True}))
        except Exception:  # noqa: BLE001 - a fault of ours must reach the one who asked
            record = {FAULT: traceback.format_exc()}
        _say(answers, record)
        if TAINTED in record or FAULT in record:
            return


def _say(answers: TextIO, packet: dict[str, Any]) -> None:
    answers.write(json.dumps(packet) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
