"""The sections of a 64-bit ELF file."""

from __future__ import annotations

import hashlib
import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_CONSTANTS = b".rodata"


class Section(NamedTuple):
    """Its name, its type, where it is in the file, how long, and the index of the section that goes with it."""

    name: bytes
    kind: int
    begin: int
    length: int
    link: int


def sections_of(image: mmap.mmap) -> list[Section]:
    """Return the sections in their order, none of what is no such file; struct.error where that is cut short."""
    if image[:5] != b"\x7fELF\x02":
        return []
    (headers,) = struct.unpack_from("<Q", image, 0x28)
    size, count, names = struct.unpack_from("<HHH", image, 0x3A)
    told = [struct.unpack_from("<II16xQQI", image, headers + size * index) for index in range(count)]
    text = told[names][2] if names < count else 0

    def named(offset: int) -> bytes:
        return image[text + offset : image.find(b"\0", text + offset)] if text else b""

    return [Section(named(name), kind, begin, length, link) for name, kind, begin, length, link in told]


def constants_of(library: Path) -> str:
    """Return a hash of the constants that the code of a library reads; of what is no such file of all of it."""
    whole = hashlib.sha256()
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
        for part in _constants(image):
            whole.update(part)
    return whole.hexdigest()


def _constants(image: mmap.mmap) -> Iterator[bytes]:
    sections = sections_of(image)
    if not sections:
        yield image[:]
    for section in sections:
        if section.name.startswith(_CONSTANTS):
            yield image[section.begin : section.begin + section.length]
