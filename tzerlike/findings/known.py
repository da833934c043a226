"""known.toml: findings that need not be reported again.

    [[known]]
    signature = "f15c4509146e"            # or
    pattern = "NarrowDataType.*SIGSEGV"   # a regular expression, searched in "kind: title" and in the message
    link = "https://github.com/apache/tvm/issues/1"
    versions = ["1.2"]                    # TVM versions that it shows in; any when left out
    note = "target_bits below 32"

Imports no TVM.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tzerlike.core.errors import UserError
from tzerlike.core.finding import Signed
from tzerlike.core.schema import VERSION

SCHEMA_VERSION = 1
"""Of known.toml, which need not state it."""

_KEYS = ("signature", "pattern", "link", "versions", "note")


@dataclass(frozen=True, slots=True)
class KnownEntry:
    """One known finding. Exactly one of `signature` and `pattern` says which; the other is empty."""

    link: str
    signature: str = ""
    pattern: str = ""
    versions: tuple[str, ...] = ()
    note: str = ""

    @property
    def label(self) -> str:
        """The signature or the pattern: no two entries of a file share it."""
        return self.signature or self.pattern

    def concerns(self, version: str) -> bool:
        """Whether it is said to show in this version of TVM: 1.2 stands for 1.2.0 and 1.2.0.post1."""
        return not self.versions or any(version == named or version.startswith(f"{named}.") for named in self.versions)

    def matches(self, signatures: Collection[str], title: str, message: str, version: str) -> bool:
        """Whether a finding is this one; `title` is "kind: parts", `message` what TVM said.

        An entry does not say which scheme its signature is of, so `signatures` are those of all.
        """
        if not self.concerns(version):
            return False
        if self.signature:
            return self.signature in signatures
        return re.search(self.pattern, title) is not None or re.search(self.pattern, message) is not None

    def to_json(self) -> dict[str, Any]:
        words = {"signature": self.signature, "pattern": self.pattern, "link": self.link, "note": self.note}
        return {key: value for key, value in {**words, "versions": list(self.versions)}.items() if value}


@dataclass(frozen=True, slots=True)
class Known:
    """The entries of a known.toml in their order; without any, everything is new."""

    entries: tuple[KnownEntry, ...] = ()

    def match(self, signatures: Collection[str], title: str, message: str, version: str) -> KnownEntry | None:
        """Return the first entry that a finding is, or None."""
        return next((entry for entry in self.entries if entry.matches(signatures, title, message, version)), None)

    def silent(self, labels: Iterable[str], versions: Iterable[str]) -> tuple[KnownEntry, ...]:
        """Return the entries that are not among the `labels` seen, of those that concern a version that was run."""
        seen, ran = set(labels), list(versions)
        return tuple(
            entry
            for entry in self.entries
            if entry.label not in seen and any(entry.concerns(version) for version in ran)
        )


def read_known(path: Path) -> Known:
    """Read a known.toml; UserError that names the file and the entry at fault."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"--known: {path} not found") from error
    except OSError as error:
        raise UserError(f"--known: {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"--known: {path}: not TOML ({str(error)[:200]})") from error
    if data.pop(VERSION, SCHEMA_VERSION) != SCHEMA_VERSION:
        raise UserError(f"--known: {path}: {VERSION} is not {SCHEMA_VERSION}; use a tzerlike of its version")
    if unknown := sorted(set(data) - {"known"}):
        raise UserError(f"--known: {path}: unknown key {unknown[0]!r}; it holds [[known]] entries and nothing else")
    tables = data.get("known", [])
    if not isinstance(tables, list):
        raise UserError(f"--known: {path}: write [[known]] for each entry, not [known]")
    entries: dict[str, KnownEntry] = {}
    for number, table in enumerate(tables, 1):
        try:
            entry = _entry(table)
        except ValueError as error:
            raise UserError(f"--known: {path}: {_name(number, table)}: {error}") from error
        if entry.label in entries:
            first = [*entries].index(entry.label) + 1
            raise UserError(f"--known: {path}: {_name(number, table)}: it repeats entry {first}")
        entries[entry.label] = entry
    return Known(tuple(entries.values()))


def _name(number: int, table: object) -> str:
    """`entry 3 (f15c4509146e)`: its place in the file, and its own words where it has some."""
    words = (table.get("signature") or table.get("pattern")) if isinstance(table, dict) else None
    return f"entry {number} ({words})" if isinstance(words, str) else f"entry {number}"


def _entry(table: object) -> KnownEntry:
    """ValueError that says what is wrong with it."""
    if not isinstance(table, dict):
        raise ValueError("not a table; write [[known]]")
    if unknown := sorted(set(table) - set(_KEYS)):
        raise ValueError(f"unknown key {unknown[0]!r}; there are {', '.join(_KEYS)}")
    texts = {key: _text(table, key) for key in ("signature", "pattern", "link", "note")}
    if bool(texts["signature"]) == bool(texts["pattern"]):
        raise ValueError("give either a signature or a pattern")
    if texts["signature"] and not re.fullmatch(r"[0-9a-f]{12}", texts["signature"]):
        raise ValueError("signature: expected 12 digits of hexadecimal, the end of a bundle's name")
    if texts["pattern"]:
        try:
            pattern = re.compile(texts["pattern"])
        except re.error as error:
            raise ValueError(f"pattern: not a regular expression ({error})") from error
        if pattern.search(""):
            raise ValueError("pattern: it matches everything, and would hide every finding")
    if not texts["link"].startswith(("https://", "http://")):
        raise ValueError("link: expected the address of an issue, https://...")
    versions = table.get("versions", [])
    if not isinstance(versions, list) or not all(
        isinstance(v, str) and re.fullmatch(r"\d[\w.+]*", v) for v in versions
    ):
        raise ValueError('versions: expected a list of TVM versions like "1.2"')
    return KnownEntry(**texts, versions=tuple(versions))


def _text(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str) or (key in table and not value.strip()):
        raise ValueError(f"{key}: expected a text")
    return value


@dataclass(frozen=True, slots=True)
class KnownFilter:
    """Tells a campaign's known findings from its new ones, and counts the known by their labels."""

    known: Known
    version: str
    seen: dict[str, int] = field(default_factory=Counter)

    def hides(self, finding: Signed, message: str) -> bool:
        """Whether a finding is known; it is counted if so."""
        entry = self.known.match(finding.signatures, finding.title, message, self.version)
        if entry is not None:
            self.seen[entry.label] = self.seen.get(entry.label, 0) + 1
        return entry is not None


def known_filter(path: str, version: str, seen: dict[str, int]) -> KnownFilter:
    """Return the filter of a campaign, which counts in `seen`: of the known.toml at `path`, or one that hides nothing
    where that is empty."""
    return KnownFilter(read_known(Path(path)) if path else Known(), version, seen)
