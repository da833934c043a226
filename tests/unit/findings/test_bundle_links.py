"""A bundle does not lead out of itself: no link in it is followed, neither to read nor to write."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

import pytest

from tests.bundles import add_bundle, crashed
from tzerlike.campaign.directory import CampaignDir
from tzerlike.core.errors import UserError
from tzerlike.core.finding import Signed
from tzerlike.findings.bundles.bisection import BISECTION, Bisection, read_bisection, write_bisection
from tzerlike.findings.reduction.place import put_in_place, recovered, reduced_in
from tzerlike.findings.refresh import refresh_report, report_of
from tzerlike.findings.replay import load_bundle
from tzerlike.reporting.triage.sightings import bundles_in, collect

FOUND = Signed("crash", ("passes", "X"))
SECRET = "the secret"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    path = add_bundle(tmp_path / "c" / "findings", FOUND, crashed("s_tir.X", "f"))
    (path / "module.py").write_text("x = 1\n")
    return path


@pytest.fixture
def outside(tmp_path: Path, bundle: Path) -> Path:
    """A directory that is a bundle too, and nobody's business."""
    shutil.copytree(bundle, tmp_path / "outside")
    (tmp_path / "outside" / "module.py").write_text(SECRET)
    return tmp_path / "outside"


def test_a_bundle_may_be_named_by_a_link(tmp_path: Path, bundle: Path) -> None:
    (tmp_path / "link").symlink_to(bundle)
    assert load_bundle(tmp_path / "link").signature == FOUND.signature


@pytest.mark.parametrize("name", ["case.json", "observation.json"])
def test_a_file_that_is_a_link_is_refused(bundle: Path, outside: Path, name: str) -> None:
    (bundle / name).unlink()
    (bundle / name).symlink_to(outside / name)
    with pytest.raises(UserError, match="a symbolic link, not a file"):
        load_bundle(bundle)


def test_a_reduction_that_is_a_link_is_none(bundle: Path, outside: Path) -> None:
    assert SECRET not in report_of(bundle)
    (bundle / "reduced").symlink_to(outside)
    assert reduced_in(bundle) is None
    assert recovered(bundle / "reduced") is None
    assert SECRET not in report_of(bundle)
    (bundle / "reduced").unlink()
    shutil.copytree(outside, bundle / "reduced")
    assert reduced_in(bundle) == bundle / "reduced"
    assert SECRET in report_of(bundle)


def test_nothing_is_written_through_a_link(bundle: Path, outside: Path) -> None:
    before = {path: path.read_bytes() for path in outside.rglob("*")}
    for name in ("report.md", BISECTION):
        (bundle / name).symlink_to(outside / "case.json")
    with pytest.raises(UserError, match="symbolic link"):
        read_bisection(bundle)
    write_bisection(bundle, Bisection(FOUND.signature, "tirx.X"))
    refresh_report(bundle)
    for link in ("reduced", ".old-reduced"):
        (bundle / link).symlink_to(outside)
    new = bundle / "new"
    new.mkdir()
    with contextlib.suppress(OSError):
        put_in_place(new, bundle / "reduced")
    assert {path: path.read_bytes() for path in outside.rglob("*")} == before


def test_a_link_among_bundles_is_none(tmp_path: Path, bundle: Path, outside: Path) -> None:
    findings = bundle.parent
    (findings / "crash-link-000000000000").symlink_to(outside)
    (findings / "crash-loop-000000000000").symlink_to(findings / "crash-loop-000000000000")
    assert list(CampaignDir(findings.parent).bundles()) == [bundle]
    assert bundles_in(findings) == [bundle]
    assert [one.path for one in collect([findings]).bundles] == [bundle]


def test_a_link_to_itself_is_one_line(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for read in (load_bundle, bundles_in, report_of):
        with pytest.raises(UserError, match="loop"):
            read(loop)


def test_a_pipe_in_the_place_of_a_reduction_holds_nobody_up(bundle: Path) -> None:
    """Whoever opens a pipe waits for its other end."""
    os.mkfifo(bundle / "reduced")
    os.mkfifo(bundle / ".old-reduced")
    for round_ in range(2):
        new = bundle / "new"
        new.mkdir()
        (new / "round").write_text(str(round_))
        put_in_place(new, bundle / "reduced")
        assert (bundle / "reduced" / "round").read_text() == str(round_)
    assert not os.path.lexists(bundle / ".old-reduced")
