"""The kernel's counters of kills for lack of memory, on trees of files that look like those of real machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tzerlike.processes.oom import oom_counters, oom_kills

V2 = "low 0\nhigh 0\nmax 31\noom 5\noom_kill {}\noom_group_kill 0\n"
V1 = "oom_kill_disable 0\nunder_oom 0\noom_kill {}\n"
VMSTAT = "nr_free_pages 1\noom_kill {}\npgfault 7\n"


def write(root: Path, place: str, text: str) -> None:
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    (root / place).write_text(text)


@pytest.mark.parametrize(
    ("cgroup", "place", "text"),
    [
        ("0::/user.slice/run.scope\n", "sys/fs/cgroup/user.slice/run.scope/memory.events", V2),
        ("0::/docker/abc\n", "sys/fs/cgroup/memory.events", V2),
        ("4:memory:/a/b\n0::/\n", "sys/fs/cgroup/memory/a/b/memory.oom_control", V1),
        ("5:cpu,memory:/docker/abc\n", "sys/fs/cgroup/memory/memory.oom_control", V1),
        ("0::/x\n", "sys/fs/cgroup/unified/x/memory.events", V2),
        ("0::/\n", "proc/vmstat", VMSTAT),
    ],
)
def test_a_kill_is_seen_wherever_it_is_counted(tmp_path: Path, cgroup: str, place: str, text: str) -> None:
    write(tmp_path, "proc/self/cgroup", cgroup)
    write(tmp_path, place, text.format(2))
    counters = oom_counters(tmp_path)
    before = oom_kills(counters)
    assert before == 2
    write(tmp_path, place, text.format(3))
    assert oom_kills(counters) == before + 1


def test_what_cannot_be_read_counts_nothing(tmp_path: Path) -> None:
    assert oom_counters(tmp_path) == ()
    assert oom_kills([tmp_path / "gone"]) == 0
    write(tmp_path, "proc/vmstat", "oom_kill\n")
    assert oom_kills(oom_counters(tmp_path)) == 0


def test_this_machine_has_a_counter_or_says_so() -> None:
    assert all(path.is_file() for path in oom_counters())
