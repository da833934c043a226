"""JUnit XML, SARIF and Markdown of an outcome: valid whatever the texts in it, and telling the right thing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tzerlike.reporting.ci.files import write_files
from tzerlike.reporting.ci.junit import junit_xml
from tzerlike.reporting.ci.markdown import summary
from tzerlike.reporting.ci.outcome import CiOutcome, Item, Status
from tzerlike.reporting.ci.sarif import sarif_log

HOSTILE = 'a & b <script> "x" ]]> \x00\x1b[31m\ud800￾ | `code` \\| \n## new heading\r\n| a | b |'
NEW = Item(Status.NEW, "crash", "crash: passes / Inject", ("0a1b2c3d4e5f",), Path("out/crash-x-0a1b2c3d4e5f"), "2 of 2")
KNOWN = Item(Status.KNOWN, "wrong-code", "wrong-code: x", ("1" * 12,), Path("out/w"), "https://x/1")
CARRIED = Item(Status.CARRIED, "crash", "crash: y", ("2" * 12,), Path("out/y"), "as crash-y")
EXPECTED = Item(Status.EXPECTED, "crash", "crash: z", ("3" * 12,), Path("out/z"))
UNEXPECTED = Item(Status.UNEXPECTED, "hang", "hang: z", (), Path("out/h"), "cannot be read")


def outcome(*items: Item, mode: str = "batch", **more: Any) -> CiOutcome:
    return CiOutcome(mode, items, 12.5, (("iterations", "40"),), **more)


texts = st.one_of(st.text(), st.just(HOSTILE), st.text(st.characters(max_codepoint=31)))
items = st.builds(
    Item,
    st.sampled_from(Status),
    st.sampled_from(["crash", "wrong-code", "something else"]),
    texts,
    st.lists(st.just("0" * 12), max_size=2).map(tuple),
    st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1).map(
        lambda n: Path("out", n)
    ),
    texts,
)
outcomes = st.builds(
    CiOutcome,
    st.sampled_from(["batch", "pr", "replay"]),
    st.lists(items, max_size=4).map(tuple),
    st.floats(0, 1e6),
    st.lists(st.tuples(texts, texts), max_size=2).map(tuple),
    st.lists(texts, max_size=2).map(tuple),
)


def parsed(document: str) -> ElementTree.Element:
    return ElementTree.fromstring(document.encode())


@given(outcomes)
def test_junit_is_xml_whose_counts_are_right(found: CiOutcome) -> None:
    root = parsed(junit_xml(found))
    assert root.tag == "testsuites"
    (suite,) = root
    cases = suite.findall("testcase")
    for element in (root, suite):
        assert element.get("name")
        assert int(element.get("tests", "")) == len(cases) == len(found.items) + 1
        assert int(element.get("failures", "")) == len(suite.findall("testcase/failure")) == len(found.failing)
        assert element.get("errors") == "0"
        assert float(element.get("time", "")) >= 0
    assert int(suite.get("skipped", "")) == len(suite.findall("testcase/skipped"))
    assert all(case.get("classname") and case.get("name") is not None and case.get("time") for case in cases)
    assert all(failure.get("type") for failure in suite.findall("testcase/failure"))


def test_junit_fails_what_is_new_and_skips_what_is_not() -> None:
    _, *cases = parsed(junit_xml(outcome(NEW, KNOWN, CARRIED, EXPECTED, UNEXPECTED))).iter("testcase")
    assert [[child.tag for child in case] for case in cases] == [["failure"], ["skipped"], ["skipped"], [], ["failure"]]
    assert cases[0].get("classname") == "tzerlike.crash"
    assert "out/crash-x-0a1b2c3d4e5f" in (cases[0][0].text or "")
    assert cases[1][0].get("message") == "known: https://x/1"


def test_junit_keeps_the_text() -> None:
    text = 'line one\nline "two" <&> \t end'
    case = list(parsed(junit_xml(outcome(Item(Status.NEW, "crash", text, (), Path("p"))))).iter("testcase"))[1]
    assert case.get("name") == text
    assert (case[0].text or "").startswith(text)


@given(outcomes)
def test_sarif_has_what_its_schema_asks_for(found: CiOutcome) -> None:
    log = json.loads(json.dumps(sarif_log(found, Path("/base"))))
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "tzerlike"
    rules = [rule["id"] for rule in driver["rules"]]
    assert len(rules) == len(set(rules))
    for invocation in run["invocations"]:
        assert isinstance(invocation["executionSuccessful"], bool)
        assert all(isinstance(n["message"]["text"], str) for n in invocation["toolExecutionNotifications"])
    assert len(run["results"]) == sum(item.status is not Status.EXPECTED for item in found.items)
    for result in run["results"]:
        check_result(result, rules)


def check_result(result: Mapping[str, Any], rules: list[str]) -> None:
    assert rules[result["ruleIndex"]] == result["ruleId"]
    assert result["level"] in ("none", "note", "warning", "error")
    assert isinstance(result["message"]["text"], str)
    assert result["baselineState"] in ("new", "unchanged", "updated", "absent")
    assert all(s["kind"] in ("inSource", "external") for s in result.get("suppressions", []))
    assert all(isinstance(value, str) for value in result["partialFingerprints"].values())
    (location,) = result["locations"]
    place = location["physicalLocation"]
    assert place["region"]["startLine"] >= 1
    uri = place["artifactLocation"]["uri"]
    assert re.fullmatch(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+", uri), uri


def test_sarif_tells_new_from_known_from_carried(tmp_path: Path) -> None:
    inside = tmp_path / "out" / "a b#c"
    item = Item(Status.NEW, "crash", "t", (), inside)
    (run,) = sarif_log(outcome(item, KNOWN, CARRIED, EXPECTED), tmp_path)["runs"]
    new, known, carried = run["results"]
    assert new["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "out/a%20b%23c/module.py"
    assert (new["baselineState"], known["baselineState"], carried["baselineState"]) == ("new", "new", "unchanged")
    assert ["suppressions" in result for result in (new, known, carried)] == [False, True, False]
    assert known["suppressions"][0]["justification"] == "https://x/1"
    elsewhere = known["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert unquote(urlparse(elsewhere).path) == str(Path("out/w/module.py").absolute())


@given(outcomes)
def test_a_summary_is_a_heading_and_rows_that_hold(found: CiOutcome) -> None:
    lines = summary(found).split("\n")
    assert lines[0].startswith("## tzerlike ")
    assert sum(line.startswith("#") for line in lines) == 1
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == (2 + len(found.failing) if found.failing else 0)
    for row in rows:
        assert sum(part == "|" for part in re.findall(r"\\[!-/:-@\[-`{-~]|.", row)) == 4, row
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", summary(found))


def test_a_summary_stays_short() -> None:
    many = [Item(Status.NEW, "crash", HOSTILE * 100, (), Path("p" * 5000)) for _ in range(500)]
    text = summary(outcome(*many, notes=(HOSTILE * 100,) * 500))
    assert len(text) < 20_000
    assert "and 480 more" in text


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (outcome(KNOWN, CARRIED), "nothing new"),
        (outcome(NEW, KNOWN), "1 new finding"),
        (outcome(NEW, NEW, mode="pr"), "2 new findings"),
        (outcome(EXPECTED, mode="replay"), "all bundles as expected"),
        (outcome(EXPECTED, UNEXPECTED, mode="replay"), "1 of 2 bundles not as expected"),
    ],
)
def test_the_verdict(found: CiOutcome, verdict: str) -> None:
    assert found.verdict == verdict
    assert verdict in summary(found).splitlines()[0]


def test_hostile_texts_reach_the_files(tmp_path: Path) -> None:
    write_files(outcome(Item(Status.NEW, "crash", HOSTILE, (), Path("p"), HOSTILE), notes=(HOSTILE,)), tmp_path / "o")
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == ["junit.xml", "results.sarif", "summary.md"]
    parsed((tmp_path / "o" / "junit.xml").read_text())
    json.loads((tmp_path / "o" / "results.sarif").read_text())
