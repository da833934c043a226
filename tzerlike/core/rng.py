"""Randomness as a value: every draw comes from a generator named by its path."""

import hashlib
from random import Random


def rng_for(root_seed: int, *path: int | str) -> Random:
    """Return the generator that belongs to `path` under `root_seed`.

    Equal arguments give equal streams in every process and on every platform;
    paths that differ anywhere give unrelated streams. Each element is encoded
    with its type, so `1` and `"1"` are different elements.
    """
    text = "".join([f"{type(element).__name__}:{element!r};" for element in (root_seed, *path)])
    return Random(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=32).digest(), "little"))
