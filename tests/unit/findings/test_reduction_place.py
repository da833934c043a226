"""Where a reduced bundle is put, and what a kill at any moment leaves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tzerlike.findings.reduction.place import put_in_place, recovered


def directory(path: Path, text: str) -> Path:
    path.mkdir()
    (path / "case.json").write_text(text)
    return path


class Killed(BaseException):
    pass


def killed_at(number: int) -> object:
    """A rename that dies instead of being done for the `number`th time."""
    left = number

    def rename(source: Path, target: Path) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise Killed
        os.rename(source, target)

    return rename


def test_the_new_one_takes_the_place_of_the_old_one_and_nothing_else_stays(tmp_path: Path) -> None:
    for text in ("first", "second"):
        put_in_place(directory(tmp_path / "new", text), tmp_path / "reduced")
        assert [path.name for path in tmp_path.iterdir()] == ["reduced"]
        assert (tmp_path / "reduced" / "case.json").read_text() == text


@pytest.mark.parametrize("moment", [1, 2])
def test_after_a_kill_there_is_a_whole_one(tmp_path: Path, moment: int) -> None:
    put_in_place(directory(tmp_path / "new", "first"), tmp_path / "reduced")
    with pytest.raises(Killed):
        put_in_place(directory(tmp_path / "new", "second"), tmp_path / "reduced", killed_at(moment))  # type: ignore[arg-type]
    found = recovered(tmp_path / "reduced")
    assert found is not None
    assert (found / "case.json").read_text() == "first"
    put_in_place(tmp_path / "new", tmp_path / "reduced")
    assert [path.name for path in tmp_path.iterdir()] == ["reduced"]


def test_there_may_be_none(tmp_path: Path) -> None:
    assert recovered(tmp_path / "reduced") is None
