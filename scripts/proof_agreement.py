"""How many rewrites of the simplifiers are proved, and do proofs agree with enumeration?

    python scripts/proof_agreement.py [--rewrites N] [--proofs N] [--jobs N] [--seed N]

Draws problems as a campaign does, takes N rewrites (default: 20,000) of the simplifiers, and has them proved, each
within 200 ms. Prints how many are decided and how, how many distinct rules are proved, and how long it took. Every
refutation is executed again here, and the analyzer is asked again about the problem with that assignment among its
values. N proofs (default: 1,000) are drawn and compared with enumeration at all assignments of their problem. Exits 1
if a refutation or a proof does not hold.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count, islice
from pathlib import Path

import msgspec

from tzerlike.arith.batch import problem_of
from tzerlike.arith.checks import CHECKS
from tzerlike.arith.claims import Claim, judge_claim, refute
from tzerlike.arith.inspect import Table, run_analysis
from tzerlike.arith.model import Problem
from tzerlike.arith.observed import REWRITING, observed_claims
from tzerlike.arith.proof.client import PROOF_SECONDS, Answer, ProofClient
from tzerlike.core.rng import rng_for
from tzerlike.processes.forked import each_in_child

_CHUNK = 500
_SIMPLIFIERS = {name: CHECKS[name] for name in REWRITING}

Rewrite = tuple[str, Problem, Claim]


def rewrites(seed: int) -> Iterator[Rewrite]:
    """Yield what simplifiers make of random problems; the same of two simplifiers once. TVM runs in a child."""

    def claimed(iteration: int) -> str:
        claims = {claim: name for name, claim in observed_claims(problem_of(seed, 0, iteration), _SIMPLIFIERS)}
        return json.dumps([[name, msgspec.to_builtins(claim)] for claim, name in claims.items()])

    for start in count(step=_CHUNK):
        chunk = range(start, start + _CHUNK)
        for iteration, (answer, _) in zip(chunk, each_in_child(chunk, claimed), strict=True):
            for name, claim in json.loads(answer or "[]"):
                yield name, problem_of(seed, 0, iteration), msgspec.convert(claim, Claim)


def decided(share: list[Rewrite], rules: Path) -> list[Answer]:
    """What a prover says of its share of the rewrites; its rules are written to a file."""
    with ProofClient(str(rules)) as prover:
        answers = [prover.decide(problem, claim) for _, problem, claim in share]
        prover.write()
        return answers


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rewrites", type=int, default=20_000, metavar="N")
    parser.add_argument("--proofs", type=int, default=1000, metavar="N")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    asked = parser.parse_args()
    drawn = list(islice(rewrites(asked.seed), asked.rewrites))
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(asked.jobs) as pool:
        paths = [Path(directory) / f"rules-{index}.json" for index in range(asked.jobs)]
        shares = [drawn[index :: asked.jobs] for index in range(asked.jobs)]
        done = list(pool.map(decided, shares, paths))
        entries = [entry for path in paths for entry in json.loads(path.read_text())["rules"]]
    told = [
        (*rewrite, answer)
        for share, answers in zip(shares, done, strict=True)
        for rewrite, answer in zip(share, answers, strict=True)
    ]
    elapsed = time.perf_counter() - began
    kinds = Counter(answer.kind for *_, answer in told)
    late = sum(answer.kind != "unknown" and answer.seconds > PROOF_SECONDS for *_, answer in told)
    in_time = len(told) - kinds["unknown"] - late
    print(f"{len(told)} rewrites in {elapsed:.0f} s by {asked.jobs} provers: {dict(kinds)}")
    print(
        f"decided in {PROOF_SECONDS * 1000:.0f} ms each: {in_time} ({in_time / len(told):.2%}); decided later: {late}"
    )
    print("how:", dict(Counter(answer.how for *_, answer in told)))
    print("unknown:", dict(Counter(answer.why for *_, answer in told if answer.kind == "unknown")))
    distinct = {entry["rule"] for entry in entries}
    free = {entry["rule"] for entry in entries if entry["free"]}
    overflowing = {entry["rule"] for entry in entries if entry["overflow"]}
    print(f"distinct rules proved: {len(distinct)}, {len(free)} of them for any constants that meet their conditions;")
    print(f"the rewritten side of {len(overflowing)} may overflow where the original does not")
    return _refutations(told) | _proofs(told, asked.proofs, asked.seed)


def _refutations(told: list[tuple[str, Problem, Claim, Answer]]) -> int:
    executed = confirmed = refuted = 0
    for name, problem, claim, answer in told:
        if answer.kind == "refuted":
            assert answer.wrong is not None
            refuted += 1
            executed += judge_claim(problem, claim, answer.wrong.assignment) is not None
            again = run_analysis(Table.of(problem.trying(answer.wrong.assignment)), CHECKS[name])
            confirmed += again.wrong is not None
    print(f"refutations: {refuted}, executed and true: {executed}, seen by enumeration then: {confirmed}")
    return int(executed < refuted)


def _proofs(told: list[tuple[str, Problem, Claim, Answer]], wanted: int, seed: int) -> int:
    proved = [(problem, claim) for _, problem, claim, answer in told if answer.kind == "proved"]
    drawn = rng_for(seed, "proofs").sample(proved, min(wanted, len(proved)))
    agree = 0
    for problem, claim in drawn:
        table = Table.of(problem)
        wrong = refute(problem, table.grid, table.counted, [claim])
        agree += wrong is None
        if wrong is not None:
            print(f"proved, but {wrong}: {problem}")
    print(f"proofs against enumeration: {agree} of {len(drawn)} agree")
    return int(agree < len(drawn))


if __name__ == "__main__":
    sys.exit(main())
