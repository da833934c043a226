"""A byte-level fuzzer in the manner of LibFuzzer, on the serialized IR of the seeds.

Up to five of its mutations in a row, without a dictionary or values from comparisons; an input that reaches new blocks
is kept, whether TVM accepts it or not, and newer inputs are drawn more often.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from baselines.driver import counting_refusals, main, programs
from tzerlike.core.case import Case

_DEPTH = 5
_LONGEST = 1 << 20
_INTERESTING = (0, 1, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255)

Mutate = Callable[[Random, bytearray, bytes], None]


def erase(rng: Random, data: bytearray, other: bytes) -> None:
    start = rng.randrange(len(data))
    del data[start : start + rng.randint(1, max(1, len(data) // 2))]


def insert_byte(rng: Random, data: bytearray, other: bytes) -> None:
    data.insert(rng.randint(0, len(data)), rng.randrange(256))


def insert_repeated(rng: Random, data: bytearray, other: bytes) -> None:
    byte = rng.choice((0, 255, rng.randrange(256)))
    data[(place := rng.randint(0, len(data))) : place] = bytes([byte]) * rng.randint(3, 128)


def change_byte(rng: Random, data: bytearray, other: bytes) -> None:
    data[rng.randrange(len(data))] = rng.randrange(256)


def change_bit(rng: Random, data: bytearray, other: bytes) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def shuffle(rng: Random, data: bytearray, other: bytes) -> None:
    start = rng.randrange(len(data))
    part = list(data[start : start + 8])
    rng.shuffle(part)
    data[start : start + 8] = bytes(part)


def change_number(rng: Random, data: bytearray, other: bytes) -> None:
    """Change a number in ASCII: one more, one less, half, twice, or any."""
    start = rng.randrange(len(data))
    while start < len(data) and not 48 <= data[start] <= 57:
        start += 1
    stop = start
    while stop < len(data) and 48 <= data[stop] <= 57:
        stop += 1
    if start < stop:
        value = int(data[start:stop][:18])
        changed = rng.choice((value + 1, value - 1, value // 2, value * 2, rng.randrange(value * value + 1)))
        data[start:stop] = str(abs(changed)).rjust(stop - start, "0")[-(stop - start) :].encode()


def change_integer(rng: Random, data: bytearray, other: bytes) -> None:
    """Change an integer in binary, of 1, 2, 4 or 8 bytes in either order."""
    size = rng.choice((1, 2, 4, 8))
    if size <= len(data):
        start, order = rng.randrange(len(data) - size + 1), rng.choice(("little", "big"))
        value = int.from_bytes(data[start : start + size], order)
        value = rng.choice((value + rng.randint(-10, 10), rng.choice(_INTERESTING), -value))
        data[start : start + size] = (value % (1 << 8 * size)).to_bytes(size, order)


def copy_part(rng: Random, data: bytearray, other: bytes) -> None:
    """Copy a part over another place, or insert it there."""
    _put(rng, data, bytes(data))


def cross_over(rng: Random, data: bytearray, other: bytes) -> None:
    """The same with a part of another input."""
    _put(rng, data, other)


def _put(rng: Random, data: bytearray, source: bytes) -> None:
    start = rng.randrange(len(source))
    part = source[start : start + rng.randint(1, max(1, len(source) - start))]
    place = rng.randint(0, len(data))
    data[place : place + (len(part) if rng.random() < 0.5 else 0)] = part


MUTATIONS: tuple[Mutate, ...] = (
    erase, insert_byte, insert_repeated, change_byte, change_bit, shuffle, change_number, change_integer, copy_part,
    cross_over,
)  # fmt: skip


def mutated(rng: Random, parent: bytes, other: bytes) -> bytes:
    """Return `parent` after one to five mutations."""
    data = bytearray(parent)
    for _ in range(rng.randint(1, _DEPTH)):
        rng.choice(MUTATIONS)(rng, data, other)
        del data[_LONGEST:]
        if not data:
            data.append(rng.randrange(256))
    return bytes(data)


class ByteMutation:
    def __init__(self) -> None:
        self._seeds = [text.encode() for text in programs()]
        self._corpus: list[bytes] = []

    def propose(self, rng: Random) -> Case:
        if self._seeds:
            return _case(self._seeds.pop())
        # LibFuzzer's weights, but for entropy: an input counts by when it came.
        place = max(rng.randrange(len(self._corpus)), rng.randrange(len(self._corpus)))
        return _case(mutated(rng, self._corpus[place], rng.choice(self._corpus)))

    def learn(self, case: Case, new_blocks: int) -> None:
        if new_blocks:
            self._corpus.append(case.ir.encode("latin-1"))


def _case(data: bytes) -> Case:
    """A case of these bytes; each is a character of the text that the children get."""
    return Case(data.decode("latin-1"))


if __name__ == "__main__":
    main(ByteMutation, counting_refusals)
