"""An outcome as SARIF 2.1.0: a rule for each kind of finding, a result for each unexpected one.

Known findings are results with a suppression, those carried over are `unchanged` in respect of the baseline; so a
service that follows both shows the new ones alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

from tzerlike import __version__
from tzerlike.reporting.ci.outcome import CiOutcome, Item, Status

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_RULES = {
    "crash": "The compiler process dies.",
    "hang": "The compiler does not terminate.",
    "oom": "The compiler runs out of memory.",
    "wrong-code": "The compiled function computes something else than the program.",
    "slow-code": "The program is slower with a pass than without it.",
    "invalid-ir": "A pass leaves ill-typed IR, or changes its input module.",
    "ice-on-valid": "TVM raises an internal error on a well-formed program.",
}

_LEVELS = {"slow-code": "warning"}


def sarif_log(outcome: CiOutcome, base: Path) -> dict[str, Any]:
    """Return the log as JSON values; files under `base` are named relative to it."""
    shown = [item for item in outcome.items if item.status is not Status.EXPECTED]
    kinds = sorted({item.kind for item in shown})
    rules = [{"id": kind, "shortDescription": {"text": _RULES.get(kind, kind)}} for kind in kinds]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "tzerlike", "version": __version__, "rules": rules}},
                "automationDetails": {"id": f"tzerlike/{outcome.mode}/"},
                "invocations": [
                    {
                        "executionSuccessful": True,
                        "toolExecutionNotifications": [{"message": {"text": note}} for note in outcome.notes],
                    }
                ],
                "results": [_result(item, kinds.index(item.kind), base) for item in shown],
            }
        ],
    }


def _result(item: Item, rule: int, base: Path) -> dict[str, Any]:
    text = f"{item.title}\n{item.detail}" if item.detail else item.title
    result: dict[str, Any] = {
        "ruleId": item.kind,
        "ruleIndex": rule,
        "level": _LEVELS.get(item.kind, "error"),
        "message": {"text": f"{text}\nBundle: {item.path}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(item.path / "module.py", base)},
                    "region": {"startLine": 1},
                }
            }
        ],
        "partialFingerprints": {"tzerlikeSignature/v1": item.signatures[0] if item.signatures else item.title},
        "baselineState": "unchanged" if item.status in (Status.CARRIED, Status.ELSEWHERE) else "new",
    }
    if item.status is Status.KNOWN:
        result["suppressions"] = [{"kind": "external", "justification": item.detail or "listed in known.toml"}]
    return result


def _uri(path: Path, base: Path) -> str:
    whole = path.absolute()
    if whole.is_relative_to(base.absolute()):
        return quote(whole.relative_to(base.absolute()).as_posix())
    return whole.as_uri()
