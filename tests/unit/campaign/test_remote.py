"""A campaign that is kept at a URI: what is there is worked on here, and what is new here gets there."""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import pytest

from tzerlike.campaign import remote
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.remote import Remote, fetch, is_uri, working_directory
from tzerlike.core.errors import UserError


@pytest.fixture(params=["memory", "file"])
def uri(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    yield f"memory://{uuid.uuid4().hex}/campaign" if request.param == "memory" else f"file://{tmp_path}/kept/campaign"


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "EVERY", 0.02)


def kept(uri: str) -> dict[str, bytes]:
    files, root = fsspec.core.url_to_fs(uri)
    return {path.removeprefix(root).strip("/"): files.cat_file(path) for path in files.find(root)}


def fill(root: Path, **files: str) -> None:
    for name, text in {"campaign.toml": "", **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def quiet(line: str) -> None:
    raise AssertionError(line)


def test_a_campaign_is_kept_there_and_gone_on_with(uri: str, tmp_path: Path) -> None:
    with working_directory(uri, tmp_path / "one", quiet) as root:
        assert not root.exists()
        fill(root, **{"corpus/a.json": "a", "workers/0/state.json": "1", ".lock": "", "corpus/.tmp-1-b.json": "half"})
    assert kept(uri) == {"campaign.toml": b"", "corpus/a.json": b"a", "workers/0/state.json": b"1"}
    assert not root.exists()
    with working_directory(uri, tmp_path / "another", quiet) as root:
        assert (root / "corpus/a.json").read_text() == "a"
        (root / "corpus/a.json").rename(root / "set-aside")
        (root / "workers/0/state.json").write_text("22")
    assert kept(uri) == {"campaign.toml": b"", "set-aside": b"a", "workers/0/state.json": b"22"}


def test_what_is_new_is_sent_while_the_work_goes_on(uri: str, tmp_path: Path) -> None:
    there = Remote(uri, CampaignDir(tmp_path / "here"))
    fill(tmp_path / "here", **{"findings/crash-a-012/case.json": "c"})
    there.send()
    assert kept(uri)["findings/crash-a-012/case.json"] == b"c"
    fill(tmp_path / "here", **{"workers/0/state.json": "1"})
    there.send()
    assert "workers/0/state.json" not in kept(uri)
    there.send(everything=True)
    assert kept(uri)["workers/0/state.json"] == b"1"


def test_what_a_killed_process_could_not_send_is_sent_by_the_next(uri: str, tmp_path: Path) -> None:
    with working_directory(uri, tmp_path, quiet) as root:
        fill(root, **{"workers/0/state.json": "2"})
    fill(root, **{"workers/0/state.json": "1", "corpus/late.json": "late"})
    with working_directory(uri, tmp_path, quiet) as again:
        assert again == root and (root / "workers/0/state.json").read_text() == "2"
    assert kept(uri)["corpus/late.json"] == b"late"


def test_nothing_of_another_campaign_stays(uri: str, tmp_path: Path) -> None:
    with working_directory(uri, tmp_path, quiet) as root:
        pass
    fill(root, **{"corpus/old.json": "old"})
    with working_directory(uri, tmp_path, quiet) as root:
        assert not root.exists()
    assert kept(uri) == {}


def test_one_process_at_a_time_uses_it_and_the_other_touches_nothing(uri: str, tmp_path: Path) -> None:
    with working_directory(uri, tmp_path, quiet) as root:
        fill(root, **{"corpus/a.json": "a"})
        with pytest.raises(UserError) as raised, working_directory(uri, tmp_path, quiet):
            pass
        assert str(raised.value) == f"--out: {uri} is in use by another tzerlike"
        assert (root / "corpus/a.json").exists()
    assert "corpus/a.json" in kept(uri)


def test_a_cache_that_somebody_has_emptied_takes_nothing_away(uri: str, tmp_path: Path) -> None:
    there = Remote(uri, CampaignDir(tmp_path / "here"))
    fill(tmp_path / "here", **{"corpus/a.json": "a"})
    there.send()
    shutil.rmtree(tmp_path / "here")
    there.send()
    assert kept(uri)["corpus/a.json"] == b"a"


def test_half_a_bundle_is_none(uri: str, tmp_path: Path) -> None:
    with working_directory(uri, tmp_path, quiet) as root:
        fill(root, **{"findings/crash-a-012/case.json": "c", "findings/crash-b-345/report.md": "r"})
    with working_directory(uri, tmp_path, quiet) as root:
        assert [path.name for path in CampaignDir(root).bundles()] == ["crash-a-012"]
    assert not any("crash-b" in name for name in kept(uri))


def test_while_nothing_can_be_sent_it_waits_and_is_said_once(tmp_path: Path) -> None:
    place = tmp_path / "kept"
    told: list[str] = []
    with working_directory(f"file://{place}/campaign", tmp_path / "cache", told.append) as root:
        place.write_text("in the way")
        fill(root, **{"corpus/a.json": "a"})
        _until(lambda: len(told) == 1)
        place.unlink()
        _until(lambda: len(told) == 2)
    assert "cannot be written" in told[0] and "can be written again" in told[1]
    assert kept(f"file://{place}/campaign")["corpus/a.json"] == b"a"


def test_what_could_not_be_sent_in_the_end_stays_here(tmp_path: Path) -> None:
    place = tmp_path / "kept"
    with (
        pytest.raises(UserError, match=r"cannot be written; the missing files are in .*campaigns"),
        working_directory(f"file://{place}/campaign", tmp_path / "cache", lambda line: None) as root,
    ):
        place.write_text("in the way")
        fill(root)
    assert (root / "campaign.toml").exists()


def test_errors_name_the_uri(uri: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as raised, working_directory(uri, tmp_path, quiet) as root:
        raise UserError(f"--out: {root} is not empty")
    assert str(raised.value) == f"--out: {uri} is not empty"


def test_a_campaign_is_copied_to_a_new_directory(uri: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a campaign"):
        fetch(uri, tmp_path / "copy")
    with working_directory(uri, tmp_path, quiet) as root:
        fill(root, **{"corpus/a.json": "a"})
    fetch(uri, tmp_path / "copy")
    assert (tmp_path / "copy/corpus/a.json").read_text() == "a"
    with pytest.raises(UserError, match="already exists"):
        fetch(uri, tmp_path / "copy")


@pytest.mark.parametrize("uri", ["nothing://x", "s3://bucket/campaign", "memory2://y"])
def test_a_file_system_that_is_not_there_is_one_line(uri: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as raised:
        fetch(uri, tmp_path / "copy")
    assert str(raised.value).startswith(f"{uri}: cannot be used: ") and "\n" not in str(raised.value)


def test_what_is_a_uri() -> None:
    assert is_uri("s3://bucket/a") and is_uri("memory://a")
    assert not any(map(is_uri, ["campaign", "./a", "/a/b", "C:/a", "a:b", "s3://"]))


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
