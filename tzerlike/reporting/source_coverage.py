"""A campaign's coverage with source locations: read from its directory, and resolved by the TVM that it ran on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tzerlike.campaign.directory import CampaignDir, existing
from tzerlike.core.errors import UserError
from tzerlike.coverage.snapshot import Identity, read_snapshot
from tzerlike.coverage.source.places import Places, joined
from tzerlike.coverage.source.recover import recovered_places
from tzerlike.coverage.source.symbolise import symbolised
from tzerlike.coverage.source.totals import Bits
from tzerlike.processes.client import Client
from tzerlike.systems import under_test
from tzerlike.systems.builds.store import with_debug_information
from tzerlike.systems.builds.tools import find_symbolizer

_SAME = ("compiler_library", "coverage_backend", "coverage_total")


@dataclass(frozen=True, slots=True)
class CampaignCoverage:
    """What a campaign reached, and what identifies the blocks: two campaigns can be compared where `facts` agree."""

    directory: CampaignDir
    facts: tuple[str, str, int]
    reached: Bits


def read_covered(root: Path) -> CampaignCoverage:
    """Read a campaign's coverage; UserError when it has none."""
    directory = existing(root)
    environment = directory.read_environment()
    library, backend = environment.get("compiler_library", ""), environment.get("coverage_backend", "")
    total = environment.get("coverage_total", 0)
    if not total:
        raise UserError(f"{root}: the campaign ran without coverage")
    identity = Identity(backend, library, total)
    paths = sorted(root.glob("workers/*/coverage.bits"))
    snapshots = [read_snapshot(path).bits_of(identity, path) for path in paths]
    # Only now: a number in a file allocates nothing by itself.
    if not snapshots:
        raise UserError(f"{root}: no workers/*/coverage.bits in it")
    reached = np.zeros(total, np.bool_)
    for bits in snapshots:
        reached |= np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")[:total].astype(np.bool_)
    return CampaignCoverage(directory, (library, backend, total), reached)


def places_of(covered: CampaignCoverage, cache: Path, open_client: Callable[[str], Client]) -> Places:
    """Return the places of the blocks, from `cache` or, the first time, found.

    `open_client` starts the TVM that the campaign ran on, with coverage of the backend given. UserError when that is
    another TVM by now.
    """
    library, backend, total = covered.facts
    path = cache / f"places-{library}-{backend}-{total}.npz"
    with suppress(OSError, ValueError):  # absent or damaged: found anew
        return Places.load(path)
    cache.mkdir(parents=True, exist_ok=True)
    with open_client(backend) as client:
        facts = tuple(client.facts[key] for key in _SAME)
        if facts != covered.facts:
            raise UserError(
                f"{covered.directory.root}: the campaign ran on a TVM with {total:,} blocks ({backend}), here is "
                f"another with {facts[2]:,}; run this where that TVM is installed"
            )
        answers = client.ask("list-blocks", {"directory": str(cache)})
    places = joined([_places_in(answer) for answer in answers if answer["event"] == "blocks"])
    places.save(path)
    return places


def _places_in(answer: dict[str, Any]) -> Places:
    listing = Path(answer["addresses"])
    addresses = np.load(listing, allow_pickle=False)
    listing.unlink()
    library = Path(answer["library"])
    sources = under_test().code.sources
    if answer["backend"] == "sancov":
        beside = with_debug_information(library)
        return symbolised(beside if beside.is_file() else library, addresses, *find_symbolizer(), sources)
    return recovered_places(library, addresses, sources)
