"""A worker's answer when it was asked to judge a case: JSON for the client."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tzerlike.core.finding import Signed
from tzerlike.core.observation import Observation

_TEXT = 8192


def found_answer(finding: Signed) -> dict[str, Any]:
    """A finding."""
    return {
        "kind": finding.kind,
        "signature": finding.signature,
        "signatures": list(finding.signatures),
        "parts": list(finding.parts),
    }


def seen_answer(seen: Observation) -> dict[str, Any]:
    """An observation, without texts that are out of all proportion."""
    data = seen.to_json()
    return data | {key: data[key][:_TEXT] for key in ("message", "stderr")}


def judged_answer(findings: Iterable[Signed], seen: Observation | None, word: str = "") -> dict[str, Any]:
    """What came of judging a case once; `word` says why there is no finding where nothing was compiled."""
    said = {"word": word or "the same"} if seen is None else {"observation": seen_answer(seen)}
    return {"event": "judged", "findings": [found_answer(finding) for finding in findings], **said}
