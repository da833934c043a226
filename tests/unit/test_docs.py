"""What the documentation points to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tzerlike
from tests.unit.test_rooms import _floors, _house

ROOT = Path(tzerlike.__file__).parents[1]
OF_A_BUNDLE = {"module.py", "repro.py", "test_regression.py"}
OF_A_USER = {"my_module.py", "kernel.py"}


DOCUMENTS = [
    "README.md",
    "CONTRIBUTING.md",
    "docs/forks.md",
    "docs/guide.md",
    "docs/how-it-works.md",
    "docs/library.md",
    "docs/tir-semantics.md",
    "docs/graph-semantics.md",
    "docs/tutorial.md",
    "docs/performance.md",
    "docs/research.md",
]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_and_function_that_is_named_exists(document: str) -> None:
    """`path.py` and `path.py: name`, from the root or from tzerlike/, and `tzerlike/room`."""
    gone = []
    text = (ROOT / document).read_text()
    pointers = re.findall(r"`((?:[\w./]+\.(?:py|cc|h|ld)|tzerlike/[\w./]+))(?:: (\w+))?(?: [A-Z][\w .]*)?`", text)
    assert pointers or document in ("README.md", "docs/forks.md")
    for path, name in pointers:
        if path in OF_A_BUNDLE | OF_A_USER:
            continue
        found = [place for place in (ROOT / path, ROOT / "tzerlike" / path) if place.exists()]
        if not found or (name and not re.search(rf"^\s*(def|class) {name}\b", found[0].read_text(), re.MULTILINE)):
            gone.append(f"{path}: {name}" if name else path)
    assert not gone


def test_the_map_has_every_room_on_its_floor() -> None:
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", (ROOT / "docs/how-it-works.md").read_text(), re.MULTILINE)
    assert {room: int(floor) for floor, room in rows} == _floors({k: v for k, v in _house().items() if k != "__main__"})
