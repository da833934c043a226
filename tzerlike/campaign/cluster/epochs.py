"""The name of a cluster's campaign, and how many machines each shard has had: cluster.json."""

from __future__ import annotations

import secrets
from pathlib import Path

import msgspec

from tzerlike.core.schema import Count, Schema, Text
from tzerlike.core.storage import write_json


class Epochs(msgspec.Struct):
    """The campaign's identity, and how many machines have had a part, by its number."""

    campaign: Text = msgspec.field(default_factory=lambda: secrets.token_hex(8))
    epochs: dict[Text, Count] = {}

    def current(self, node: int) -> int:
        return self.epochs.get(str(node), 0)

    def next(self, node: int) -> int:
        """Count one more machine for a part, and return its number."""
        self.epochs[str(node)] = self.current(node) + 1
        return self.current(node)


_SCHEMA = Schema(Epochs, "cluster", unstated=1)


def read_epochs(path: Path) -> Epochs:
    """Read a cluster.json; UserError in one line that names the file and the place."""
    return _SCHEMA.read(path)


def write_epochs(path: Path, epochs: Epochs) -> None:
    """Write a cluster.json; StorageError where it cannot be written."""
    write_json(path, _SCHEMA.stamped(msgspec.to_builtins(epochs)))
