"""The pages in a browser: headless Chromium, axe-core's rules, three widths, light and dark, and what the script does.

Needs `pip install playwright axe-core-python` and a chromium (`apt-get install chromium`).
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.reporting.test_page import bundle, campaign
from tzerlike.core.storage import write_json
from tzerlike.coverage.source.totals import Row
from tzerlike.reporting.coverage_page import coverage_page
from tzerlike.reporting.overview import read_overview
from tzerlike.reporting.page import page as campaign_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MISSING = [name for name in ("playwright", "axe_core_python") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium"),
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

SCRIPT = '@T.prim_func\ndef main(A: T.Buffer((4,), "int8")):\n    for i in range(4):  # all\n        A[i] = 1\n' * 9
DIFF = {
    "signature": "0", "guilty": "tirx.UnrollLoop", "detail": "", "build": "optimised", "change": "none", "index": None,
    "passes": 0, "difference": None, "diff": "@@ -1 +1 @@\n-a\n+b\n c", "reduced": False, "schema_version": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("pages")
    directory = campaign(root / "night")
    for number in range(30):
        path = bundle(directory, f"word{number}", SCRIPT)
        write_json(path / "bisect.json", DIFF)
    (root / "report.html").write_text(campaign_page(read_overview(directory.root)))
    files = [Row(f"src/tirx/{name}.cc", number, 9) for number, name in enumerate("abc")]
    tree = [Row("src", 3, 27), Row("src/tirx", 3, 27)]
    passes = [Row("tirx.Never", 0, 3), Row("tirx.Often", 3, 3)]
    (root / "coverage.html").write_text(
        coverage_page("Coverage", Row("all", 3, 27), tree, files, passes, {"src/tirx/a.cc": [(1, 9)]})
    )
    return {name: root / f"{name}.html" for name in ("report", "coverage")}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280, 1920])
@pytest.mark.parametrize("name", ["report", "coverage"])
def test_axe_finds_nothing_and_nothing_overflows(
    browser: Any, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    import axe_core_python

    rules = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text()
    shown = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said: list[str] = []
    shown.on("console", lambda message: said.append(message.text))
    shown.on("pageerror", lambda error: said.append(str(error)))
    shown.goto(pages[name].as_uri())
    shown.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert shown.evaluate("document.documentElement.scrollWidth") == width
    shown.evaluate(rules)
    found = shown.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    assert [(each["id"], each["impact"], each["nodes"][0]["html"][:200]) for each in found] == []
    assert said == [], "the policy refuses nothing of ours, and the script does not fail"
    shown.close()


def test_findings_are_filtered_and_copied(browser: Any, pages: dict[str, Path]) -> None:
    context = browser.new_context()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown = context.new_page()
    shown.goto(pages["report"].as_uri())
    cards = shown.locator("article.finding:visible")
    assert cards.count() == 24
    shown.get_by_role("button", name="Show all 30").click()
    assert cards.count() == 30
    shown.get_by_role("searchbox").fill("word17")
    assert cards.count() == 1
    assert shown.locator("output").text_content() == "1 of 30"
    cards.get_by_role("button").click()
    copied = shown.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("tzerlike replay night/findings/crash-")
    shown.get_by_role("checkbox", name="crash").uncheck()
    assert cards.count() == 0
    last = shown.locator("article.finding").last.get_attribute("id")
    shown.goto(f"{pages['report'].as_uri()}#{last}")
    assert shown.locator(f'[id="{last}"]').is_visible(), "a link leads to a card that the filters left out"
    context.close()


def test_coverage_is_searched_and_sorted(browser: Any, pages: dict[str, Path]) -> None:
    shown = browser.new_page()
    shown.goto(pages["coverage"].as_uri())
    assert shown.locator("#tree li:visible").count() == 2
    shown.get_by_role("searchbox").fill("B.CC")
    names = shown.locator("#tree li:visible").evaluate_all("rows => rows.map(row => row.dataset.name)")
    assert names == ["src", "src/tirx", "src/tirx/b.cc"]
    shown.get_by_role("searchbox").fill("")
    shown.locator("select[name=view]").select_option("Files")
    shown.locator("select[name=order]").select_option("most blocks reached")
    names = shown.locator("#files li:visible").evaluate_all("rows => rows.map(row => row.dataset.name)")
    assert names == ["src/tirx/c.cc", "src/tirx/b.cc", "src/tirx/a.cc"]
    shown.close()
