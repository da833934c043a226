"""The page and the summary of fabricated campaigns: whole, torn, hostile and huge ones."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.stats import CSV_HEADER, CurvePoint, curve_csv
from tzerlike.cli.commands.report import report as command
from tzerlike.core.case import Case, Provenance
from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import UserError
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Frame, Observation, Stage
from tzerlike.core.storage import write_json
from tzerlike.core.stored import StoredCase
from tzerlike.findings.bundles.bundle import Confirmation, Texts, write_bundle
from tzerlike.reporting import shown
from tzerlike.reporting.colour import coloured
from tzerlike.reporting.findings import diff_lines
from tzerlike.reporting.overview import POINTS, read_overview, thinned
from tzerlike.reporting.page import breakable, page, speeds, whole
from tzerlike.reporting.plot import curve_chart, nice_ticks
from tzerlike.reporting.text import summary

REPORTS = Path(__file__).parents[2] / "data" / "reports"
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m"

STATS = {
    "elapsed_s": 100.0, "iterations": 1500, "iterations_per_s": 15.0, "valid_rate": 0.9, "coverage": 98198,
    "coverage_total": 2571158, "coverage_backend": "breakpoint", "corpus": 827, "valuable_tests": 580,
    "findings": {"crash": 1}, "exits": {"ok": 1409, "crash": 5}, "rejected": {"build : not implemented": 12},
    "mutators": {"splice": {"tried": 10, "valid": 9, "valuable": 3}, "idle": {"tried": 0, "valid": 0, "valuable": 0}},
    "passes": {"tirx.UnrollLoop": {"tried": 4, "valid": 4, "valuable": 1}},
    "stage_seconds": {"mutate": 1.0, "build": 3.0, "run": 0.0}, "problems": [],
}  # fmt: skip


class Reader(HTMLParser):
    """Every tag with its attributes, and all text; an element that is not closed is an error."""

    VOID = ("meta", "line", "polygon", "polyline", "wbr", "img", "input")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def names(self) -> set[str]:
        return {tag for tag, _ in self.tags}


def only_script_allowed(html: str) -> bool:
    """Whether the page has one script, and its policy lets that alone run, and nothing be fetched."""
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"script-src 'sha256-{digest}';" in policy and policy.startswith("default-src 'none';")


def curve(points: int, step: float = 5.0) -> str:
    lines = (CurvePoint(step * i, 10 * i, 100 * i, i, i, i // 50).to_csv() for i in range(points))
    return "\n".join((CSV_HEADER, *lines)) + "\n"


def campaign(root: Path, stats: dict[str, Any] | None = None, **changes: Any) -> CampaignDir:
    directory = CampaignDir(root)
    directory.create(1)
    directory.config.write_text(CampaignConfig(seed=7, **changes).to_toml())
    write_json(directory.environment, {"tvm": "0.27.0", "tzerlike": "0.1.0"})
    write_json(directory.stats, STATS if stats is None else stats)
    directory.coverage_csv.write_text(curve(21))
    return directory


def bundle(directory: CampaignDir, word: str, script: str = "x = 1\n") -> Path:
    frames = (Frame(f"tvm::tirx::{word[:20]}::Visit_(int)", "libtvm_compiler.so"),)
    seen = Observation(Exit.CRASH, Stage.BUILD, f"SIGSEGV {word}", "tirx.UnrollLoop", 11, frames)
    stored = StoredCase(Case("{}"), Provenance(word))
    finding = Finding("crash", ("passes", word), stored.case, seen)
    path = write_bundle(
        directory.findings, finding, stored, Limits(), Confirmation(2, 2), Texts(script, ""), {"tvm": "0.27.0"}
    )
    assert path is not None
    return path


def test_each_library_of_the_compiler_has_a_curve(tmp_path: Path) -> None:
    libraries = {"libtvm.so": {"covered": 70, "total": 1000}, "libmine.so": {"covered": 30, "total": 50}}
    directory = campaign(tmp_path / "night", STATS | {"coverage_libraries": libraries})
    points = [CurvePoint(5.0 * i, i, 10 * i, i, i, i, {"libtvm.so": 7 * i, "libmine.so": 3 * i}) for i in range(11)]
    directory.coverage_csv.write_text(curve_csv(points))
    html = page(read_overview(directory.root))
    assert "Coverage of libmine.so: 0 at first, 30 after" in html and "Coverage of libtvm.so: 0 at first, 70" in html
    assert sum(tag == "figure" for tag, _ in Reader(html).tags) == 6
    assert any(line.endswith("libmine.so: 30 of 50 blocks (60.00%)") for line in summary(read_overview(directory.root)))


def test_stages_are_named_as_in_the_documents(tmp_path: Path) -> None:
    directory = campaign(tmp_path / "night", STATS | {"stage_seconds": {"build_reference": 2.0}})
    overview = read_overview(directory.root)
    assert ">build baseline<" in page(overview)
    assert "time: build baseline 100%" in summary(overview)


@pytest.mark.parametrize(("bound", "shown"), [("1.0764107613322527e-11", "1.1e-11"), ("0.0", "0"), ("12abc", "12abc")])
def test_how_far_off_a_result_may_be_is_told_in_two_digits(tmp_path: Path, bound: str, shown: str) -> None:
    directory = campaign(tmp_path / "night")
    (report,) = REPORTS.glob("wrong-code-both-nn-rms-norm-*")
    path = directory.findings / report.name
    shutil.copytree(report, path)
    for seen in (path / "observation.json", path / "reduced" / "observation.json"):
        if seen.exists():
            seen.write_text(re.sub(r'("bound": )"[^"]*"', rf'\1"{bound}"', seen.read_text()))
    assert f"± {shown} (" in page(read_overview(directory.root))


def test_a_page_has_everything_and_needs_nothing(tmp_path: Path) -> None:
    directory = campaign(tmp_path / "night")
    path = bundle(directory, "first")
    html = page(read_overview(directory.root))
    read = Reader(html)
    signature = path.name.rpartition("-")[2]
    assert not read.names() & {"link", "img", "iframe", "object", "base"}
    (known,) = [attrs for tag, attrs in read.tags if tag == "a" and str(attrs["href"]).startswith("http")]
    assert known["href"] == "https://github.com/apache/tvm/issues?q=UnrollLoop" and known["rel"] == "noreferrer"
    assert html.count("http") == len(["http-equiv", known["href"]]), "nothing comes from elsewhere"
    assert only_script_allowed(html)
    assert "url(" not in html and "@import" not in html
    assert sum(tag == "figure" for tag, _ in read.tags) == 4
    assert signature in [attrs.get("id") for _, attrs in read.tags], "the anchor that others link to"
    for text in ("night", "98,198", "3.82% of 2,571,158", "splice", "75.0%", "UnrollLoop crashes (SIGSEGV)", "x = 1"):
        assert text in read.text, text
    assert "idle" not in read.text, "a mutator that was never tried tells nothing"
    images = [attrs for tag, attrs in read.tags if tag == "svg"]
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in images)
    targets = {attrs["href"] for tag, attrs in read.tags if tag == "a"}
    ids = {f"#{attrs['id']}" for _, attrs in read.tags if "id" in attrs}
    assert targets - {known["href"]} <= ids, "every other link leads somewhere on the page"


def test_nothing_of_a_campaign_is_markup(tmp_path: Path) -> None:
    directory = campaign(
        tmp_path / "</title><script>x",
        {
            **STATS,
            "mutators": {HOSTILE: {"tried": 1, "valid": 1, "valuable": 1}},
            "verdicts": {HOSTILE: 3},
            "stage_seconds": {HOSTILE: 2.0},
            "problems": [HOSTILE],
            "coverage_backend": HOSTILE,
        },
    )
    write_json(directory.environment, {"tvm": HOSTILE, HOSTILE: HOSTILE})
    path = bundle(directory, HOSTILE, HOSTILE)
    evil = {"signature": HOSTILE, "guilty": HOSTILE, "detail": "", "build": "optimised", "change": "none"}
    evil |= {
        "index": None,
        "passes": 0,
        "difference": None,
        "diff": f"+{HOSTILE}",
        "reduced": False,
        "schema_version": 1,
    }
    write_json(path / "bisect.json", evil)
    refused = Observation(Exit.REJECTED, Stage.BUILD, f"InternalError: {HOSTILE[:30]}")
    finding = Finding("ice-on-valid", ("build", HOSTILE), Case("{}"), refused)
    stored = StoredCase(Case("{}"), Provenance("seed"))
    write_bundle(directory.findings, finding, stored, Limits(), Confirmation(1, 1), Texts("", ""), {})
    overview = read_overview(directory.root)
    assert [finding.guilty for finding in overview.findings] != [""]
    assert any(HOSTILE[:30] in finding.title for finding in overview.findings)
    html = page(overview)
    read = Reader(html)
    assert only_script_allowed(html)
    assert "img" not in read.names()
    assert read.text.count("alert(1)") >= 8, "it is shown, as the text that it is"
    assert not any("onerror" in name for _, attrs in read.tags for name in attrs)
    assert "\x1b" not in "\n".join(summary(overview))


def test_findings_come_first_by_tier_and_kind_with_what_it_takes_to_judge_them(tmp_path: Path) -> None:
    directory = campaign(tmp_path / "a night")
    first = bundle(directory, "first")
    for kind, tier in (("crash", 2), ("wrong-code", 1), ("crash", 1)):
        copy = directory.findings / f"{kind}-{tier}-{first.name.rpartition('-')[2]}"
        shutil.copytree(first, copy)
        told = json.loads((copy / "observation.json").read_text()) | {"kind": kind, "tier": tier}
        write_json(copy / "observation.json", told)
    read = Reader(page(read_overview(directory.root)))
    cards = [attrs for tag, attrs in read.tags if tag == "article"]
    assert [(card["data-tier"], card["data-kind"]) for card in cards] == [
        ("1", "wrong-code"), ("1", "crash"), ("2", "crash"), ("0", "crash")
    ]  # fmt: skip
    assert read.text.index("Without a tier") < read.text.index("Iterations a second".lower())
    assert f"tzerlike replay 'a night/findings/{first.name}'" in read.text
    assert "due to tirx.UnrollLoop" in read.text
    choices = [(attrs["name"], attrs["value"]) for tag, attrs in read.tags if attrs.get("type") == "checkbox"]
    assert choices == [
        ("kind", "wrong-code"), ("kind", "crash"), ("tier", "1"), ("tier", "2"), ("tier", "0")
    ]  # fmt: skip


@pytest.mark.parametrize(
    "program",
    [
        '# from a import b\n@T.prim_func\ndef f(A: T.Buffer((4,), "int8")):\n    A[0] = 1.5e-3 < "\\"#"',
        '\'unfinished\n""" & <b>',
        HOSTILE,
    ],
)
def test_colours_add_nothing_and_lose_nothing(program: str) -> None:
    assert Reader(coloured(program)).text == program
    assert Reader(coloured(program)).names() <= {"span"}


def test_colours_tell_words_from_each_other() -> None:
    html = coloured('for i in T.serial(4):  # all\n    A["x"]')
    for span in ('keyword">for', 'api">T.serial', 'number">4', 'comment"># all', 'string">&quot;x&quot;'):
        assert f'<span class="{span}</span>' in html


def test_a_diff_is_coloured_line_by_line() -> None:
    assert diff_lines("--- a\n+++ b") == '<span class="at">--- a</span>\n<span class="at">+++ b</span>'
    html = diff_lines("@@ -1 +1 @@\n-a < b\n+a > b\n c")
    assert html == (
        '<span class="at">@@ -1 +1 @@</span>\n<span class="del">-a &lt; b</span>\n'
        '<span class="add">+a &gt; b</span>\n c'
    )


def test_a_reduced_program_stands_for_the_one_that_was_found(tmp_path: Path) -> None:
    directory = campaign(tmp_path / "c")
    path = bundle(directory, "first", "long = 1\n")
    shutil.copytree(path, tmp_path / "copy")
    shutil.copytree(tmp_path / "copy", path / "reduced")
    (path / "reduced" / "module.py").write_text("short = 1\n")
    (finding,) = read_overview(directory.root).findings
    assert finding.reduced
    assert finding.program == "short = 1"
    assert "Program, reduced" in page(read_overview(directory.root))


def test_a_model_is_drawn_as_a_graph_and_a_program_is_not(tmp_path: Path) -> None:
    directory = campaign(tmp_path / "c")
    bundle(directory, "program")
    model = next(path.parent for path in sorted(REPORTS.glob("*/case.json")) if '"graph"' in path.read_text())
    shutil.copytree(model, directory.findings / model.name)
    html = page(read_overview(directory.root))
    assert html.count('<svg class="model"') == html.count("<summary>As a graph</summary>") == 1
    assert Reader(html).names() >= {"svg", "rect", "path"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# from tvm.script import tirx as T\n\n@T.prim_func\n", "@T.prim_func"),
        ("# %0: int8[1] = input\n# return %0\n\nl = 1  # one\n# two\n", "l = 1  # one\n# two"),
        ("# %0: int8[1] = input\n", "# %0: int8[1] = input"),
    ],
)
def test_a_program_begins_with_its_first_line_of_code(tmp_path: Path, text: str, shown: str) -> None:
    directory = campaign(tmp_path / "c")
    bundle(directory, "first", text)
    (finding,) = read_overview(directory.root).findings
    assert finding.program == shown


def torn_curve(directory: CampaignDir) -> None:
    text = directory.coverage_csv.read_text()
    directory.coverage_csv.write_text(text[: len(text) // 2] + "\nnonsense,1\n1e999,1,1,1,1,1\n-1,1,1,1,1,1\n")


def backward_curve(directory: CampaignDir) -> None:
    lines = directory.coverage_csv.read_text().splitlines()
    directory.coverage_csv.write_text("\n".join((*lines, lines[3])))


BROKEN: list[tuple[Callable[[CampaignDir], object], str]] = [
    (lambda d: d.coverage_csv.unlink(), "coverage.csv: not found; there are no curves"),
    (lambda d: d.coverage_csv.write_text(""), "coverage.csv: no point yet"),
    (lambda d: d.coverage_csv.write_bytes(b"\xff\x00\n" * 9), "the first line is not"),
    (backward_curve, "1 of 22 lines cannot be read"),
    (torn_curve, "lines cannot be read and are left out"),
    (lambda d: d.stats.unlink(), "stats.json: not found"),
    (lambda d: d.stats.write_text('{"elapsed_s": '), "stats.json: not JSON"),
    (lambda d: d.stats.write_text("[]"), "stats.json: not an object"),
    (lambda d: d.config.write_text("seed = "), "campaign.toml: not readable"),
    (lambda d: (next(d.bundles()) / "observation.json").write_text("{"), "observation.json: not JSON"),
    (lambda d: (next(d.bundles()) / "case.json").unlink(), "case.json: not found"),
]


@pytest.mark.parametrize(("damage", "note"), BROKEN, ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_damaged_is_said_in_one_line(
    tmp_path: Path, damage: Callable[[CampaignDir], object], note: str
) -> None:
    directory = campaign(tmp_path / "c")
    bundle(directory, "first")
    damage(directory)
    overview = read_overview(directory.root)
    assert [line for line in overview.notes if note in line] == list(overview.notes)
    assert len(overview.notes) == 1
    assert note in Reader(page(overview)).text
    assert any(note in line for line in summary(overview))


def test_numbers_of_the_wrong_type_count_as_nothing(tmp_path: Path) -> None:
    wrong = {key: "many" for key in STATS} | {"mutators": {"a": 3, "b": {"tried": "x", "valuable": True}}}
    overview = read_overview(campaign(tmp_path / "c", wrong).root)
    Reader(page(overview))
    assert summary(overview)


def test_a_campaign_without_findings_or_coverage_says_so(tmp_path: Path) -> None:
    bare = {**STATS, "coverage": 0, "coverage_total": 0, "corpus": 0, "findings": {}, "mutators": {}, "passes": {}}
    directory = campaign(tmp_path / "c", bare, harness="arith")
    read = Reader(page(read_overview(directory.root)))
    assert "has no coverage" in read.text
    assert sum(tag == "figure" for tag, _ in read.tags) == 2
    assert "None so far." in read.text
    assert "arithmetic analyzer" in read.text
    assert "no findings" in summary(read_overview(directory.root))


def test_a_campaign_that_has_just_begun_has_a_page(tmp_path: Path) -> None:
    directory = CampaignDir(tmp_path / "c")
    directory.create(1)
    overview = read_overview(directory.root)
    assert len(overview.notes) == 4
    assert "None so far." in Reader(page(overview)).text
    with pytest.raises(UserError, match="not a campaign"):
        read_overview(tmp_path)
    with pytest.raises(UserError, match="no such directory"):
        read_overview(tmp_path / "nowhere")


def test_a_page_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown, "SHOWN", 3)
    monkeypatch.setattr(shown, "_ALL_TEXT", 15_000)
    directory = campaign(tmp_path / "c", {**STATS, "rejected": {f"reason {i}": 1 for i in range(4000)}})
    directory.coverage_csv.write_text(curve(20_000))
    for i in range(5):
        bundle(directory, f"finding{i}", "line = 1\n" * 50_000)
    overview = read_overview(directory.root)
    assert len(overview.curve) == POINTS
    assert [bool(finding.program) for finding in overview.findings] == [True, True, False]
    assert all(len(finding.program) < 13_000 for finding in overview.findings)
    assert "more characters, in the bundle" in overview.findings[0].program
    assert overview.kinds == {"crash": 5}
    html = page(overview)
    assert len(html) < 400_000
    assert "Not shown here, in findings/: 2 crash." in Reader(html).text


def test_no_kind_takes_the_place_of_a_rarer_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown, "SHOWN", 6)
    directory = campaign(tmp_path / "c")
    first = bundle(directory, "finding")
    for kind, count in (("crash", 20), ("hang", 1), ("wrong-code", 9)):
        for i in range(count):
            copy = directory.findings / f"{kind}-copy{i}-{first.name.rpartition('-')[2]}"
            shutil.copytree(first, copy)
            text = (copy / "observation.json").read_text()
            (copy / "observation.json").write_text(text.replace('"kind": "crash"', f'"kind": "{kind}"'))
    overview = read_overview(directory.root)
    assert [finding.kind for finding in overview.findings] == ["crash"] * 3 + ["hang"] + ["wrong-code"] * 2
    assert overview.more == {"crash": 18, "wrong-code": 7}
    assert overview.kinds == {"crash": 21, "hang": 1, "wrong-code": 9}


def test_a_thinned_curve_keeps_its_ends_and_its_spread() -> None:
    points = [CurvePoint(float(i), i, i, i, i, i) for i in range(10_000)]
    kept = thinned(points, 100)
    assert len(kept) == 100
    assert (kept[0], kept[-1]) == (points[0], points[-1])
    gaps = [later.elapsed_s - before.elapsed_s for before, later in pairwise(kept)]
    assert max(gaps) <= 103
    assert thinned(points[:5], 100) == tuple(points[:5])


def test_speeds_are_those_of_their_windows() -> None:
    points = [CurvePoint(0.0, 0, 0, 0, 0, 0), CurvePoint(10.0, 100, 0, 0, 0, 0), CurvePoint(20.0, 120, 0, 0, 0, 0)]
    assert speeds(points) == [(0.0, 10.0), (10.0, 10.0), (20.0, 2.0)]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 98198, [0, 25000, 50000, 75000, 100000]), (0, 1, [0, 0.25, 0.5, 0.75, 1]), (0, 3, [0, 1, 2, 3])],
)
def test_ticks_are_round(low: float, high: float, expected: list[float]) -> None:
    assert nice_ticks(low, high) == pytest.approx(expected)


def test_a_curve_of_nothing_still_draws() -> None:
    Reader(curve_chart("Findings", [(0.0, 0.0), (5.0, 0.0)], "unique", whole))
    Reader(curve_chart("Findings", [(0.0, 0.0)], "unique", whole))


def test_counts_are_short() -> None:
    assert [whole(n) for n in (0, 980, 2000, 12_500, 1_250_000)] == ["0", "980", "2,000", "12.5k", "1.25M"]


def test_names_break_where_words_meet() -> None:
    assert breakable("s_tir.LowerInitBlock<") == "s_<wbr>tir.<wbr>Lower<wbr>Init<wbr>Block&lt;"


def test_the_command_writes_a_page_and_prints_a_summary_or_json(tmp_path: Path) -> None:
    directory = campaign(tmp_path / "c")
    bundle(directory, "first")
    file = tmp_path / "page.html"
    done = CliRunner().invoke(command, [str(directory.root), "--html", str(file)])
    assert done.exit_code == 0
    assert re.search(r"1:40 of 4:00:00, 1,500 iterations \(15\.0/s\), valid 90%, coverage 98,198", done.output)
    assert "crash: 1" in done.output
    Reader(file.read_text())
    done = CliRunner().invoke(command, [str(directory.root), "--json"])
    told = json.loads(done.output)
    assert told["stats"] == STATS
    assert [finding["kind"] for finding in told["findings"]] == ["crash"]
    assert len(told["curve"]) == 21


def test_what_does_not_survive_its_text_is_due_to_no_pass(tmp_path: Path) -> None:
    (found,) = (Path(__file__).parents[2] / "data" / "reports").glob("ice-on-valid-roundtrip-the-parser*")
    directory = CampaignDir(tmp_path / "night")
    shutil.copytree(found, directory.findings / found.name)
    (card,), _ = shown.shown_findings(directory, [])
    assert card.title.startswith("TVMScript is not parsed") and card.culprit == ""
