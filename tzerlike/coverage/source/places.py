"""The source location of each block, as far as it is known, and a file to keep these in."""

from __future__ import annotations

import io
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tzerlike.core.cache import keep

_UNKNOWN = -1
_SEPARATOR = "\n"


@dataclass(frozen=True, slots=True)
class Places:
    """One entry a block: indices into `files` and `functions`, -1 where that is not known, and a line, 0 likewise.

    Files are named as in TVM's tree: `src/tirx/transform/unroll_loop.cc`.
    """

    files: tuple[str, ...]
    functions: tuple[str, ...]
    file: npt.NDArray[np.int32]
    function: npt.NDArray[np.int32]
    line: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.file)

    def save(self, path: Path) -> None:
        """Keep the places in a cache file."""
        data = io.BytesIO()
        np.savez_compressed(
            data,
            files=_packed(self.files),
            functions=_packed(self.functions),
            file_of=self.file,
            function_of=self.function,
            line_of=self.line,
        )
        keep(path, data.getvalue())

    @classmethod
    def load(cls, path: Path) -> Places:
        """Undo `save`; OSError or ValueError when there is no such file or it is damaged."""
        try:
            with np.load(path, allow_pickle=False) as data:
                arrays = (data[name] for name in ("file_of", "function_of", "line_of"))
                return cls(_unpacked(data["files"]), _unpacked(data["functions"]), *arrays)
        except (KeyError, zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(f"{path}: {error}") from error


def joined(parts: list[Places]) -> Places:
    """Return the places of several libraries, one after the other."""
    files = list(dict.fromkeys(name for part in parts for name in part.files))
    functions = list(dict.fromkeys(name for part in parts for name in part.functions))
    return Places(
        tuple(files),
        tuple(functions),
        np.concatenate([_renumbered(part.file, part.files, files) for part in parts]),
        np.concatenate([_renumbered(part.function, part.functions, functions) for part in parts]),
        np.concatenate([part.line for part in parts]),
    )


def numbered(names: list[str]) -> tuple[tuple[str, ...], npt.NDArray[np.int32]]:
    """Return the different names, and for each name its index among them; "" is unknown."""
    index: dict[str, int] = {}
    numbers = [_UNKNOWN if not name else index.setdefault(name, len(index)) for name in names]
    return tuple(index), np.array(numbers, np.int32)


def _renumbered(numbers: npt.NDArray[np.int32], old: tuple[str, ...], new: list[str]) -> npt.NDArray[np.int32]:
    places = {name: place for place, name in enumerate(new)}
    # The last entry is what -1 picks.
    table = np.array([*(places[name] for name in old), _UNKNOWN], np.int32)
    return table[numbers]


def _packed(names: tuple[str, ...]) -> npt.NDArray[np.uint8]:
    return np.frombuffer(_SEPARATOR.join(names).encode(), np.uint8)


def _unpacked(data: npt.NDArray[np.uint8]) -> tuple[str, ...]:
    text = data.tobytes().decode()
    return tuple(text.split(_SEPARATOR)) if text else ()
