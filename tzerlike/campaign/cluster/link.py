"""The link that carries a machine's messages."""

from __future__ import annotations

import time
from typing import Protocol

from tzerlike.campaign.cluster.mirror import Mirror
from tzerlike.campaign.cluster.parcel import ANOTHER, News, Parcel, Welcome
from tzerlike.core.errors import StorageError

EVERY = 2.0
"""Seconds between two parcels."""


class Unreachable(Exception):
    """A message had no answer; it may have arrived, or not."""


class Link(Protocol):
    """What carries a machine's messages to the coordinator. Both raise Unreachable."""

    def join(self) -> Welcome: ...

    def exchange(self, epoch: int, parcel: Parcel) -> News: ...

    def tell(self, line: str) -> None:
        """Have a line shown where the campaign was started; lost where that cannot be."""


def exchange(mirror: Mirror, link: Link, epoch: int, everything: bool = False) -> News:
    """Send what there is, and lay down what comes back; an empty answer where nobody can be reached, or the disk is
    full here, and then all of it is sent again."""
    parcel = mirror.parcel(everything)
    try:
        answer = link.exchange(epoch, parcel)
        if answer.end in ("", ANOTHER):
            mirror.take(parcel, answer)
    except (Unreachable, StorageError):
        time.sleep(EVERY)
        return News()
    return answer


def send_rest(mirror: Mirror, link: Link, epoch: int, seconds: float) -> tuple[bool, str]:
    """Send what a machine has that does no more; returns whether nothing is left that is wanted, and why it is to
    end."""
    until = time.monotonic() + seconds
    end = ""
    while end in ("", ANOTHER) and mirror.parcel(everything=True).pieces:
        if time.monotonic() > until:
            return False, end
        end = exchange(mirror, link, epoch, everything=True).end
    return True, end
