"""Whether every pair of a campaign's corpus replays to the same outcome and the same blocks.

    python scripts/corpus_replays.py CAMPAIGN [NUMBER]

Runs NUMBER corpus entries (default: all), evenly chosen, in two freshly armed processes, each case with no block
covered, and compares outcome and blocks case by case. Exits 1 if any differ.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tzerlike.campaign.directory import CampaignDir
from tzerlike.core.limits import Limits
from tzerlike.processes.caller import open_client

_BATCH = 200


def trace(paths: list[str]) -> list[dict[str, Any]]:
    answers: list[dict[str, Any]] = []
    limits = Limits()
    with open_client(coverage="breakpoint") as client:
        for start in range(0, len(paths), _BATCH):
            params = {
                "paths": paths[start : start + _BATCH],
                "seconds": limits.seconds,
                "memory": limits.memory,
                "oracles": ["crash"],
                "out": "",
            }
            answers += client.ask("trace", params)
    return answers


def main() -> None:
    directory = CampaignDir(Path(sys.argv[1]).resolve())
    ids = directory.corpus_ids()
    number = int(sys.argv[2]) if len(sys.argv) > 2 else len(ids)
    paths = [str(directory.corpus / f"{case_id}.json") for case_id in ids[:: max(1, len(ids) // number)][:number]]
    first, second = trace(paths), trace(paths)
    refused = [one["path"] for one in first if one["exit"] != "ok"]
    differ = [one["path"] for one, two in zip(first, second, strict=True) if one != two]
    print(f"{len(paths)} pairs: {len(refused)} do not compile, {len(differ)} differ between two processes")
    for path in [*refused, *differ][:20]:
        print(f"  {path}")
    sys.exit(1 if refused or differ else 0)


if __name__ == "__main__":
    main()
