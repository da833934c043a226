"""Files that are whole or absent, stay where they are, and wait for room on a full disk."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tzerlike.core.errors import StorageError
from tzerlike.core.finding import Signed
from tzerlike.core.storage import NoSpace, Room, locked, write_atomic, write_new, write_output, write_together
from tzerlike.findings.bundles.bundle import store_bundle


def test_a_link_in_the_place_of_a_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("as it was")
    path = tmp_path / "report.md"
    path.symlink_to(outside)
    trap = tmp_path / f".tmp-{os.getpid()}-report.md"
    trap.symlink_to(outside)
    write_atomic(path, "new")
    assert path.read_text() == "new"
    assert not path.is_symlink()
    assert outside.read_text() == "as it was"
    assert not os.path.lexists(trap)


def test_what_a_user_names_is_written_into_and_never_replaced(tmp_path: Path) -> None:
    """As root, a rename over /dev/null would take it from the whole machine."""
    pipe, kept, link = tmp_path / "pipe", tmp_path / "kept.html", tmp_path / "link.html"
    os.mkfifo(pipe)
    link.symlink_to(kept)
    with ThreadPoolExecutor() as pool:
        reader = pool.submit(pipe.read_text)
        write_output(pipe, "page")
        assert reader.result() == "page"
    for path in (link, kept, tmp_path / "new.html"):
        write_output(path, path.name)
        assert path.read_text() == path.name
    assert pipe.is_fifo() and link.is_symlink()
    with pytest.raises(StorageError, match="Is a directory"):
        write_output(tmp_path, "page")


def test_files_written_together_are_all_there_or_leave_nothing_behind(tmp_path: Path) -> None:
    write_together(tmp_path, {"one": "1", "two": b"2"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"one": "1", "two": "2"}
    with pytest.raises(StorageError, match="three-"):
        write_together(tmp_path, {"one": "new", "three-" * 60: "3"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"one": "1", "two": "2"}


def test_a_lock_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path), pytest.raises(BlockingIOError), locked(path, 0.1):
        pass
    with ExitStack() as first:
        first.enter_context(locked(path))
        threading.Timer(0.1, first.close).start()
        with locked(path, 60):
            pass


def test_a_lock_empties_no_file_that_it_is_a_link_to(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    (tmp_path / "lock").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match="symbolic links"), locked(tmp_path / "lock"):
        pass
    assert (tmp_path / "mine").read_text() == "precious"


def test_what_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "inside").touch()
    for path in (tmp_path / "a", tmp_path / "no" / "file", tmp_path / "a" / "inside" / "x"):
        with pytest.raises(StorageError, match=str(path)) as error:
            write_atomic(path, "x")
        assert "\n" not in str(error.value)
        assert not isinstance(error.value, NoSpace)
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["a", "inside"]


def test_a_limit_on_the_size_of_files_is_one_line(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tzerlike.core.storage import write_atomic, write_together\n"
        "from tzerlike.core.errors import StorageError\n"
        "try: write_atomic(Path(sys.argv[1]), b'x' * 20_000)\n"
        "except StorageError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "file")],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "File too large" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    path = tmp_path / "state.json"
    write_atomic(path, "old")

    def full(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(NoSpace, match="no space left"):
        write_atomic(path, "new")
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["state.json"]


class Disk:
    """A disk that is full for the first tries."""

    def __init__(self, full_for: int) -> None:
        self.left = full_for
        self.told: list[str] = []
        self.slept = 0

    def write(self) -> str:
        if self.left:
            self.left -= 1
            raise NoSpace("no space left for x")
        return "written"

    def sleep(self, seconds: float) -> None:
        self.slept += 1


def test_work_goes_on_once_there_is_room_and_says_so_once() -> None:
    disk = Disk(3)
    room = Room(lambda: False, disk.told.append, disk.sleep)
    assert room.keep(disk.write) == "written"
    assert room.keep(disk.write) == "written"
    assert disk.told == ["no space left for x", ""]
    assert disk.slept == 3


def test_work_ends_where_there_is_no_room_when_the_time_is_up() -> None:
    disk = Disk(99)
    room = Room(lambda: disk.slept >= 2, disk.told.append, disk.sleep)
    with pytest.raises(NoSpace):
        room.keep(disk.write)
    assert disk.told == ["no space left for x"]
    assert disk.left == 96


def test_other_errors_do_not_wait() -> None:
    disk = Disk(0)
    room = Room(lambda: False, disk.told.append, disk.sleep)

    def refused() -> None:
        raise StorageError("x: Permission denied")

    with pytest.raises(StorageError):
        room.keep(refused)
    assert not disk.slept and not disk.told


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK])
def test_a_new_file_is_written_where_there_are_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def link(source: Path, target: Path) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", link)
    assert write_new(tmp_path / "claim", "1")
    assert not write_new(tmp_path / "claim", "2")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["1"]


def test_what_a_killed_worker_left_half_written_is_no_bundle(tmp_path: Path) -> None:
    finding = Signed("crash", ("passes", "Pass", "SIGSEGV"))
    (tmp_path / f".tmp-123-{finding.signature}").mkdir()
    assert store_bundle(tmp_path, finding, {"case.json": "{}"}) == tmp_path / finding.directory
    assert store_bundle(tmp_path, finding, {"case.json": "{}"}) is None
