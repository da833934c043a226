"""Which TVMs a command takes, by the store of those that were added; none of them is loaded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from tzerlike import api
from tzerlike.cli.commands import judge
from tzerlike.cli.main import cli
from tzerlike.findings.versions.history import found_on

LACKS = {"graph": "no such nodes", "types": "no such nodes", "results": "nothing is interpreted"}


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that are ready, and one that is not done."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name, version in (("old", "1.0"), ("new", "2.0"), ("begun", "")):
        root = tmp_path / "tzerlike/tvm/builds" / name
        root.mkdir(parents=True)
        (root / "build.json").write_text(json.dumps({"name": name, "source": "x", "variables": {"A": name}}))
        if version:
            ready: Mapping[str, object] = {"version": version, "edges": 0, "lacks": LACKS if name == "old" else {}}
            (root / "ready.json").write_text(json.dumps(ready))


def said(*arguments: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    return done.exit_code, done.output.strip() or str(done.exception)


def test_all_are_those_that_are_ready() -> None:
    assert [(other.name, other.version, other.variables) for other in api.added_tvms("all")] == [
        ("new", "2.0", {"A": "new"}),
        ("old", "1.0", {"A": "old"}),
    ]
    assert [other.name for other in api.added_tvms("old")] == ["old"]
    assert api.added_tvms("") == []


def test_what_a_tvm_lacks_is_listed() -> None:
    status, text = said("tvm", "list")
    assert status == 0
    old = [line for line in text.splitlines() if line.startswith("old: ")]
    assert "old: harnesses tir, arith" in old
    assert any(line.startswith("old: oracles crash") and "inconsistency" not in line for line in old)
    assert "old: without graph, types: no such nodes" in old
    assert "new: harnesses tir, graph, arith" in text.splitlines()


def test_what_a_tvm_lacks_is_not_tested_on_it(tmp_path: Path) -> None:
    status, text = said("fuzz", "--tvm", "old", "--harness", "graph", "--out", tmp_path / "campaign")
    assert "graph is not available on old: no such nodes" in text and status != 0
    status, text = said("fuzz", "--tvm", "old", "--oracles", "crash,ill-typed", "--out", tmp_path / "campaign")
    assert "ill-typed is not available on old: no such nodes" in text and status != 0
    assert not (tmp_path / "campaign").exists()


@pytest.mark.parametrize(
    ("tvm", "on", "compared"),
    [("", "", []), ("old", "old", []), ("new", "", ["new"]), ("all", "", ["new", "old"])],
)
def test_a_bundle_of_another_version_is_compared(
    tvm: str, on: str, compared: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`old` is what the bundle was found on: there it is replayed as it was."""
    path = _bundle(tmp_path)
    asked: dict[str, object] = {}

    def replayed(paths: object, times: int, opened: object, steps: object) -> list[object]:
        asked["on"] = opened.args[0]  # type: ignore[attr-defined]
        return []

    monkeypatch.setattr(judge.api, "replay", replayed)
    monkeypatch.setattr(
        judge, "_histories", lambda results, others, times, missing: asked.update(others=[o.name for o in others]) or []
    )
    said("replay", path, "--tvm", tvm)
    assert (asked["on"], asked.get("others", [])) == (on, compared)


def _bundle(root: Path) -> Path:
    path = root / "crash-x-0123456789ab"
    path.mkdir()
    (path / "observation.json").write_text(json.dumps({"environment": {"tvm": "1.0"}}))
    (path / "case.json").write_text("{}")
    assert found_on(path) == "1.0"
    return path
