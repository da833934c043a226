"""Files that outlive a run: the type that each is read as, and its readable versions.

Values are checked by the annotations of plain dataclasses and msgspec Structs. Whatever does not fit is one UserError
that names the place: "case.config.opt_level: expected int, found str".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import Meta

from tzerlike.core.errors import UserError
from tzerlike.core.untrusted import FILE_BYTES, TEXT, one_line, read_json

VERSION = "schema_version"
"""The key under which a file states its version."""

_GREATEST = (1 << 63) - 1

Text = Annotated[str, Meta(max_length=TEXT)]
"""A text that is not a program."""

Whole = Annotated[int, Meta(ge=-_GREATEST - 1, le=_GREATEST)]
Count = Annotated[int, Meta(ge=0, le=_GREATEST)]
Seconds = Annotated[float, Meta(ge=0.0, le=1e12)]
Scalar = None | bool | Whole | float | Text
"""What stands for itself: an argument of a pass, an option."""

Migration = Callable[[dict[str, Any]], dict[str, Any]]
"""Makes the next version of an older one; it may meet anything, and leaves what it does not know to the check."""

T = TypeVar("T")

_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(\w+)`")


class WrongVersion(UserError):
    """A file of a version that this tzerlike does not read."""


def converted(value: object, kind: type[T] | UnionType, where: str) -> T:
    """Return parsed JSON as a value of type `kind`; UserError that names the place under `where` that does not fit."""
    try:
        found: T = msgspec.convert(value, kind)
        return found
    except msgspec.ValidationError as error:
        raise UserError(_complaint(str(error), where)) from error
    except RecursionError as error:
        raise UserError(f"{where}: nested too deep") from error


def _complaint(message: str, where: str) -> str:
    """What msgspec says, with the place in front: "Expected `int`, got `str` - at `$.a`" is "where.a: ..."."""
    complaint, _, at = message.rpartition(" - at `$")
    place = where + at.removesuffix("`") if complaint else where
    complaint = complaint or message
    if missing := _MISSING.fullmatch(complaint):
        return f"{place}.{missing[1]}: missing"
    if unknown := _UNKNOWN.fullmatch(complaint):
        return f"{place}.{one_line(unknown[1], 40)}: nothing that may be there"
    plain = complaint.replace("`", "").replace(", got ", ", found ")
    return f"{place}: {plain[:1].lower()}{plain[1:200]}"


@dataclass(frozen=True, slots=True)
class Schema(Generic[T]):
    """One kind of file. `name` is what its places begin with, `version` what this tzerlike writes.

    `older` maps each older version that is still read to its migration. A file that states no version has the version
    `unstated`; None where it has to state one.
    """

    kind: type[T]
    name: str
    version: int = 1
    older: Mapping[int, Migration] = field(default_factory=lambda: MappingProxyType({}))
    unstated: int | None = None

    def of(self, data: object) -> T:
        """Check parsed JSON; UserError that names the first place that is missing, of the wrong type or out of bounds.

        WrongVersion where it is older than what is read, or newer than what is known.
        """
        return converted(self._migrated(data), self.kind, self.name)

    def read(self, path: Path, limit: int = FILE_BYTES) -> T:
        """Read a JSON file; UserError in one line that names the file and the place."""
        data = read_json(path, limit)
        try:
            return self.of(data)
        except UserError as error:
            raise type(error)(f"{path}: {error}") from error

    def stamped(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return what to write: `data` with the version."""
        return {VERSION: self.version, **data}

    def _migrated(self, data: object) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise UserError(f"{self.name}: expected object, found {'null' if data is None else type(data).__name__}")
        version = data.get(VERSION, self.unstated)
        if version is None:
            raise UserError(f"{self.name}.{VERSION}: missing")
        if not isinstance(version, int) or isinstance(version, bool):
            raise UserError(f"{self.name}.{VERSION}: expected int, found {type(version).__name__}")
        if version > self.version:
            raise WrongVersion(
                f"{self.name}: {VERSION} {str(version)[:20]} is newer than {self.version}, which this tzerlike reads; "
                "use the one that wrote it"
            )
        while version < self.version:
            if version not in self.older:
                raise WrongVersion(
                    f"{self.name}: {VERSION} {str(version)[:20]} is older than this tzerlike reads; "
                    "use the one that wrote it"
                )
            data = self.older[version](data)
            version += 1
        return data
