"""The process that proves: claims in, verdicts out, a line of JSON each. It has z3 and must not have TVM.

It is started with the seconds that a claim may take and the file of rules. A line is `[problem, claim]`, answered by
the decision, or else has the rules written, answered by the summary.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec

from tzerlike.arith.claims import Claim
from tzerlike.arith.model import Problem
from tzerlike.arith.proof.book import RuleBook


def main() -> None:
    """Answer until nobody asks any more."""
    path = Path(sys.argv[2])
    book = RuleBook.read(path, float(sys.argv[1]))
    answers = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        asked = json.loads(line)
        if isinstance(asked, str):
            book.write(path)
            answer: object = book.summary()
        else:
            decision = book.decide(Problem.from_json(asked[0]), msgspec.convert(asked[1], Claim))
            answer = msgspec.to_builtins(decision)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
