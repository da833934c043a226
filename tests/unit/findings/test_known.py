"""known.toml: what it matches, what it says is gone, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tzerlike.core.errors import UserError
from tzerlike.core.finding import Signed
from tzerlike.findings.known import KnownFilter, read_known

LINK = "https://github.com/apache/tvm/issues/1"
CRASH = Signed("crash", ("passes", "NarrowDataType", "SIGSEGV"))


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "known.toml"
    path.write_text(text)
    return path


def entry(**fields: str) -> str:
    lines = [f"{key} = {value}" for key, value in ({"link": f'"{LINK}"'} | fields).items()]
    return "\n".join(["[[known]]", *lines, ""])


def test_a_signature_and_a_pattern_match(tmp_path: Path) -> None:
    known = read_known(
        write(tmp_path, entry(signature=f'"{CRASH.signature}"') + entry(pattern="'InternalError.*alias'"))
    )
    assert known.match(CRASH.signatures, CRASH.title, "", "0.27.0") == known.entries[0]
    assert known.match("0" * 12, "ice-on-valid: X / InternalError: no alias", "", "0.27.0") == known.entries[1]
    assert known.match("0" * 12, "crash: X", "InternalError: an alias", "0.27.0") == known.entries[1]
    assert known.match("0" * 12, "crash: X", "", "0.27.0") is None


def test_a_pattern_sees_the_kind(tmp_path: Path) -> None:
    known = read_known(write(tmp_path, entry(pattern='"^crash: passes / NarrowDataType"')))
    assert known.match("", CRASH.title, "", "0.27.0") is not None
    assert known.match("", CRASH.title.replace("crash", "hang"), "", "0.27.0") is None


@pytest.mark.parametrize(
    ("version", "matches"), [("0.27.0.post1", True), ("0.27", True), ("0.26.0", True), ("0.2", False), ("0.270", False)]
)
def test_versions_are_prefixes_by_component(tmp_path: Path, version: str, matches: bool) -> None:
    known = read_known(write(tmp_path, entry(signature=f'"{CRASH.signature}"', versions='["0.27", "0.26.0"]')))
    assert (known.match(CRASH.signatures, CRASH.title, "", version) is not None) is matches


def test_an_entry_is_missed_only_where_its_version_ran(tmp_path: Path) -> None:
    text = entry(pattern='"a"') + entry(pattern='"b"', versions='["0.26"]') + entry(pattern='"c"')
    known = read_known(write(tmp_path, text))
    assert [e.label for e in known.silent(["c"], ["0.27.0"])] == ["a"]
    assert [e.label for e in known.silent(["c"], ["0.27.0", "0.26.0"])] == ["a", "b"]
    assert known.silent([], []) == (), "nothing ran: nothing is gone"


def test_a_filter_counts_what_it_hides(tmp_path: Path) -> None:
    hidden = KnownFilter(read_known(write(tmp_path, entry(pattern='"Narrow"'))), "0.27.0")
    assert [hidden.hides(CRASH, ""), hidden.hides(CRASH, ""), hidden.hides(Signed("crash", ("x",)), "")] == [
        True,
        True,
        False,
    ]
    assert hidden.seen == {"Narrow": 2}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (entry(), "entry 1: give either a signature or a pattern"),
        (entry(signature='"f15c4509146e"', pattern='"x"'), "entry 1 (f15c4509146e): give either"),
        (entry(pattern='"a"') + entry(signature='"f15c"'), "entry 2 (f15c): signature: expected 12 digits"),
        (entry(pattern='"("'), "entry 1 ((): pattern: not a regular expression"),
        (entry(pattern='".*"'), "entry 1 (.*): pattern: it matches everything"),
        (entry(pattern='"a"') + entry(pattern='"a"'), "entry 2 (a): it repeats entry 1"),
        ('[[known]]\npattern = "a"\n', "entry 1 (a): link: expected the address"),
        (entry(pattern='"a"', link='"12"'), "entry 1 (a): link: expected the address"),
        (entry(pattern='"a"', version='"0.27"'), "entry 1 (a): unknown key 'version'"),
        (entry(pattern='"a"', versions='"0.27"'), "entry 1 (a): versions: expected a list"),
        (entry(pattern='"a"', versions="[0.27]"), "entry 1 (a): versions: expected a list"),
        (entry(pattern='"a"', note="3"), "entry 1 (a): note: expected a text"),
        ("[known]\npattern = 'a'\n", "write [[known]] for each entry"),
        ("known = [3]\n", "entry 1: not a table"),
        ("[[bug]]\n", "unknown key 'bug'"),
        ("[[known]\n", "not TOML"),
    ],
)
def test_what_is_wrong_is_said_with_its_entry(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UserError) as error:
        read_known(write(tmp_path, text))
    assert says in str(error.value)
    assert "known.toml" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.toml not found"):
        read_known(tmp_path / "none.toml")


def test_an_empty_file_knows_nothing(tmp_path: Path) -> None:
    assert read_known(write(tmp_path, "")).entries == ()
