"""The merged coverage of all machines of a campaign."""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np

from tzerlike.campaign.cluster.parcel import Piece
from tzerlike.core.errors import UserError
from tzerlike.coverage.snapshot import Identity, parse_snapshot, snapshot_bytes

_EVERY = 5.0
"""Seconds between two versions that machines are sent."""


class Merged:
    """The union of snapshots of one build's blocks; those of another build are left out."""

    def __init__(self, snapshots: Iterable[bytes]) -> None:
        self._identity: Identity | None = None
        self._bits = np.zeros(0, np.uint8)
        self._changed = False
        self._made = -_EVERY
        self._piece: Piece | None = None
        self.version = 0
        for data in snapshots:
            self.add(data)

    def add(self, data: bytes) -> None:
        """Add the contents of a coverage.bits; one that is damaged, or of another build, is let go."""
        try:
            snapshot = parse_snapshot(data)
        except UserError:
            return
        bits = np.frombuffer(snapshot.bits, np.uint8)
        if self._identity is None and snapshot.identity is not None:
            self._identity, self._bits = snapshot.identity, np.zeros_like(bits)
        if snapshot.identity == self._identity and bits.size == self._bits.size:
            union = self._bits | bits
            self._changed |= bool((union != self._bits).any())
            self._bits = union

    @property
    def merged(self) -> Piece | None:
        """The union as a coverage.bits, of some seconds ago at most; None where nothing is covered yet."""
        if self._changed and self._identity is not None and time.monotonic() - self._made > _EVERY:
            self._piece = Piece.of(snapshot_bytes(self._identity, self._bits.tobytes()))
            self._changed, self._made = False, time.monotonic()
            self.version += 1
        return self._piece
