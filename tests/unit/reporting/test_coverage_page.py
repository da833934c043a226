"""The page of coverage: a tree, searched and sorted by data that it carries, in the style of all pages."""

from __future__ import annotations

from tests.unit.reporting.test_page import Reader, only_script_allowed
from tzerlike.coverage.source.totals import Row
from tzerlike.reporting.coverage_page import coverage_page

WHOLE = Row("all", 3, 10)
DIRECTORIES = [Row("src", 3, 8), Row("src/tirx", 2, 6), Row("src/tirx/empty", 0, 0)]
FILES = [Row("(unknown)", 0, 2), Row("/usr/include/vector", 0, 1), Row("src/a.cc", 1, 2), Row("src/tirx/<b>.cc", 2, 6)]


def made(passes: list[Row] | None = None, tried: frozenset[str] = frozenset()) -> Reader:
    html = coverage_page("<my>", WHOLE, DIRECTORIES, FILES, passes or [], {"src/a.cc": [(3, 5), (9, 9)]}, tried=tried)
    assert only_script_allowed(html)
    return Reader(html)


def test_files_are_in_their_directories_and_all_is_quoted() -> None:
    read = made()
    rows = [attrs["data-name"] for tag, attrs in read.tags if tag == "li"]
    tree = ["src", "src/tirx", "src/tirx/<b>.cc", "src/a.cc", "(unknown)", "/usr/include/vector"]
    assert rows == [*tree, *(row.name for row in FILES)], "the tree, and then the files in a row"
    assert "<my>" in read.text and "my" not in read.names() and "b" not in read.names()
    assert "3-5, 9" in read.text
    for words in ("tirx/", "33.3%", "2 of 6"):
        assert words in read.text


def test_what_sorts_a_row_is_in_it() -> None:
    (row,) = (attrs for tag, attrs in made().tags if tag == "li" and attrs["data-name"] == "src/tirx")
    assert (row["data-covered"], row["data-total"]) == ("2", "6")


def test_a_pass_that_was_tried_is_not_called_never_reached() -> None:
    passes = [Row("tirx.Tried", 0, 4), Row("tirx.Never", 0, 4), Row("tirx.Reached", 1, 4)]
    text = made(passes, frozenset({"tirx.Tried"})).text
    assert "Passes never reached: 1 of 3tirx.Never" in text
    assert "tirx.Tried tried; the location of its code is unknown" in text


def test_two_campaigns_stand_side_by_side() -> None:
    compared = Row("src/a.cc", 1, 2, "", 2, 0, 1)
    html = coverage_page("two", Row("all", 1, 2, "", 2, 0, 1), [Row("src", 1, 2, "", 2, 0, 1)], [compared], [], {})
    text = Reader(html).text
    assert "the other campaign reached 2: 0 only here, 1 only there" in text
    assert text.count("0 only here, 1 only there") == 4
