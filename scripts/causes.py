"""How many distinct causes campaigns found, by one triage over all of them.

    python scripts/causes.py [--shown] CAMPAIGN...

A campaign's directory is called NAME-SEED: what is compared are the names, the first against each of the others, by
medians over their seeds, Mann and Whitney's two-sided test and A12 (1: the first is always better). A cause is a group
of `tzerlike triage`, so that bundles of other versions are grouped as this one does. With --shown each bundle is run
again, and what this version finds nothing wrong with does not count: by now it is known to be no bug.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from comparison import mann_whitney, superiority

_RIGHT = ("ok in ", "rejected in ")
"""How replay begins to say of a case that nothing is wrong with it."""


def nothing_wrong(campaign: Path) -> Iterator[Path]:
    """Yield the bundles of a campaign with which this version finds nothing wrong."""
    replay = [sys.executable, "-m", "tzerlike", "replay", "--json", str(campaign)]
    for one in json.loads(subprocess.run(replay, check=False, capture_output=True, text=True).stdout):
        if one["verdict"] == "does not show" and one["last"].startswith(_RIGHT):
            yield Path(one["bundle"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("campaigns", nargs="+", type=Path, metavar="CAMPAIGN")
    parser.add_argument("--shown", action="store_true", help="leave out what does not show any more")
    asked = parser.parse_args()
    campaigns = [path.resolve() for path in asked.campaigns]
    triage = [sys.executable, "-m", "tzerlike", "triage", "--json", *map(str, campaigns)]
    groups = json.loads(subprocess.run(triage, check=True, capture_output=True, text=True).stdout)["groups"]
    gone = {path for campaign in campaigns for path in nothing_wrong(campaign)} if asked.shown else set()
    found: dict[Path, set[int]] = {campaign: set() for campaign in campaigns}
    for number, group in enumerate(groups):
        for path in set(map(Path, group["paths"])) - gone:
            found[next(parent for parent in path.parents if parent in found)].add(number)
    named: dict[str, list[Path]] = defaultdict(list)
    for campaign in campaigns:
        named[campaign.name.rpartition("-")[0]].append(campaign)
        stats = json.loads((campaign / "stats.json").read_text(encoding="utf-8"))
        ran = f"{stats['iterations']:,} iterations, {stats['pairs']:,} pairs, {stats['coverage']:,} blocks"
        print(f"{campaign.name}: {len(found[campaign])} causes; {ran}")
    counts = {name: [len(found[each]) for each in paths] for name, paths in named.items()}
    first, ours = next(iter(counts.items()))
    for name, each in counts.items():
        together = len(set.union(*(found[path] for path in named[name])))
        print(f"{name}: median {median(each):g} ({min(each)} to {max(each)}), {together} together", end="")
        if name != first:
            ratio, p = median(ours) / median(each), mann_whitney(ours, each)
            print(f"; {first} / it {ratio:.2f}, p {p:.3g}, A12 {superiority(ours, each):.2f}", end="")
        print()


if __name__ == "__main__":
    main()
