"""A campaign on a Ray cluster of several nodes, all on this machine, of which any may be lost."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from tests.e2e.conftest import start
from tests.e2e.ray_cluster import Cluster, python_without
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.state import read_state

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra `ray`"),
]

FUZZ = ("--jobs", "1", "--nodes", "2", "--seed", "3", "--oracles", "crash", "--ui", "plain")


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster(2)
    yield made
    made.close()


@pytest.fixture
def empty_cluster() -> Iterator[Cluster]:
    made = Cluster(0)
    yield made
    made.close()


def fuzz(cluster: Cluster, out: Path, *options: str, address: str = "") -> subprocess.Popen[str]:
    return start("fuzz", "--cluster", address or cluster.address, "--out", out, *options)


def until(condition: Callable[[], bool], what: str, seconds: float = 180) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.5)


def iterations(out: Path) -> list[int]:
    directory = CampaignDir(out)
    paths = [directory.worker_state(number) for number in (0, 1)]
    return [read_state(path).iterations if path.exists() else 0 for path in paths]


def beyond(out: Path, before: list[int]) -> Callable[[], bool]:
    return lambda: all(now > then + 20 for now, then in zip(iterations(out), before, strict=True))


def ended(process: subprocess.Popen[str]) -> None:
    printed, errors = process.communicate(timeout=300)
    assert process.returncode == 0, printed + errors


def launchers(out: Path) -> list[psutil.Process]:
    """The processes at work on a campaign."""
    places = set(map(str, mirrors(out)))
    return [one for one in psutil.process_iter(["cmdline"]) if places.intersection(one.info["cmdline"] or ())]


def mirrors(out: Path) -> list[Path]:
    """The directories in which machines work, or have worked, on a campaign."""
    found = []
    for note in Path(tempfile.gettempdir()).glob("tzerlike-*/.of"):
        # What is being written, or removed, is not there for now.
        with suppress(OSError, ValueError):
            if json.loads(note.read_text())[0] == json.loads((out / "cluster.json").read_text())["campaign"]:
                found.append(note.parent)
    return found


def test_a_part_goes_on_when_its_machine_is_lost(cluster: Cluster, tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    process = fuzz(cluster, out, *FUZZ, "--budget", "90s")
    until(beyond(out, [0, 0]), "no machine began")
    before, cases = iterations(out), set(CampaignDir(out).corpus_ids())
    there = mirrors(out)
    cluster.add()
    cluster.remove(cluster.nodes[0])
    until(beyond(out, before), "a part did not go on")
    for mirror in there:
        cases |= set(CampaignDir(mirror).corpus_ids())
    ended(process)
    # What the lost machine had found alone came home, and nothing stays on its disk.
    assert len(there) == 2 and not mirrors(out)
    assert cases <= set(CampaignDir(out).corpus_ids())


def test_a_campaign_whose_driver_is_killed_is_resumed(cluster: Cluster, tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    process = fuzz(cluster, out, *FUZZ, "--budget", "1h")
    until(beyond(out, [0, 0]), "no machine began")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    until(lambda: not launchers(out), "machines work on without a driver")
    directory = CampaignDir(out)
    before, cases = iterations(out), set(directory.corpus_ids())
    for damaged in (directory.stats, directory.cluster, directory.coverage_csv):
        damaged.write_text("[")
    process = fuzz(cluster, out, "--resume", "--ui", "plain")
    until(beyond(out, before), "it did not go on")
    _, refused = fuzz(cluster, out, "--resume", "--ui", "plain").communicate(timeout=120)
    assert refused == f"tzerlike: --out: {out} is in use by another tzerlike\n"
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert printed.count("set aside as") == 3, printed
    assert cases <= set(directory.corpus_ids())


def test_the_coordinator_is_started_again(cluster: Cluster, tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    process = fuzz(cluster, out, *FUZZ, "--budget", "60s")
    until(beyond(out, [0, 0]), "no machine began")
    before = iterations(out)
    coordinators = (one for one in psutil.process_iter(["cmdline"]) if "CoordinatorActor" in str(one.info["cmdline"]))
    held = str(out / ".coordinator")
    next(one for one in coordinators if any(file.path == held for file in one.open_files())).kill()
    until(beyond(out, before), "it did not go on")
    ended(process)


def test_a_node_without_tvm_is_one_line(empty_cluster: Cluster, tmp_path: Path) -> None:
    empty_cluster.join(python_without(tmp_path / "environment", "tvm", "apache_tvm-*"))
    done = fuzz(empty_cluster, tmp_path / "campaign", "--nodes", "1", "--jobs", "1", "--budget", "5m", "--ui", "none")
    _, errors = done.communicate(timeout=300)
    assert done.returncode == 2 and len(errors.splitlines()) == 1, errors
    assert errors.startswith("tzerlike: --cluster: no machine could take part; machine 1 of 1: apache-tvm (missing)")


def test_a_node_with_another_tvm_is_one_line_and_the_others_go_on(empty_cluster: Cluster, tmp_path: Path) -> None:
    python = python_without(tmp_path / "environment", "tvm")
    another_tvm(next(python.parents[1].glob("lib/python*/site-packages")))
    empty_cluster.add()
    empty_cluster.join(python)
    out = tmp_path / "campaign"
    done = fuzz(empty_cluster, out, *FUZZ, "--budget", "5m", "--iterations", "40")
    printed, errors = done.communicate(timeout=400)
    assert done.returncode == 0, printed + errors
    refused = re.findall("^machine .*: its .*", printed, re.MULTILINE)
    assert len(refused) == 1, printed
    assert re.match(
        r"machine [12] of 2: its compiler_library is [0-9a-f]+, but the campaign's is [0-9a-f]+ \(on ", refused[0]
    )
    assert sum(iterations(out)) == 20


def another_tvm(site: Path) -> None:
    """Leave TVM in `site`, with a compiler whose file is another one."""
    (original,) = find_spec("tvm").submodule_search_locations or ()
    (site / "tvm" / "lib").mkdir(parents=True)
    for path in Path(original).iterdir():
        if path.name != "lib":
            (site / "tvm" / path.name).symlink_to(path)
    for path in (Path(original) / "lib").iterdir():
        if path.name.startswith("libtvm_compiler"):
            shutil.copy(path, site / "tvm" / "lib" / path.name)
            with (site / "tvm" / "lib" / path.name).open("ab") as file:
                file.write(b"another")
        else:
            (site / "tvm" / "lib" / path.name).symlink_to(path)


def test_cuda_parts_go_where_a_gpu_is(empty_cluster: Cluster, tmp_path: Path) -> None:
    with_gpu = [empty_cluster.add(num_gpus=1) for _ in range(2)]
    empty_cluster.add()
    assert with_gpu == ["0", "1"]
    out = tmp_path / "campaign"
    done = fuzz(empty_cluster, out, *FUZZ, "--target", "cuda", "--budget", "5m")
    until(lambda: len(launchers(out)) == 2, "no machine began")
    given = [one.environ().get("CUDA_VISIBLE_DEVICES") for one in launchers(out)]
    os.killpg(done.pid, signal.SIGKILL)
    assert given == ["0", "0"]


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("127.0.0.1:9", "no Ray cluster at 127.0.0.1:9: .*refused"),
        ("ray://127.0.0.1:9", "no Ray cluster at ray://127.0.0.1:9: .*refused"),
        ("http://127.0.0.1:9", "'http://127.0.0.1:9' is neither auto, HOST:PORT nor ray://HOST:PORT"),
    ],
)
def test_a_wrong_address_is_one_line_and_leaves_nothing(address: str, why: str, tmp_path: Path) -> None:
    done = start("fuzz", "--cluster", address, "--out", tmp_path / "campaign", *FUZZ)
    _, errors = done.communicate(timeout=180)
    assert done.returncode == 2 and len(errors.splitlines()) == 1, errors
    assert re.match(f"tzerlike: --cluster: {why}", errors), errors
    assert not list(tmp_path.iterdir())


def test_an_address_of_something_else_is_one_line(cluster: Cluster, tmp_path: Path) -> None:
    head, outside = cluster.address, cluster.client
    for address in (outside.removeprefix("ray://"), f"ray://{head}"):
        done = fuzz(cluster, tmp_path / "campaign", *FUZZ, address=address)
        printed, errors = done.communicate(timeout=180)
        assert printed.endswith(f"connecting to the Ray cluster at {address}\n")
        assert done.returncode == 2 and len(errors.splitlines()) == 1, errors
        assert errors.startswith(f"tzerlike: --cluster: no Ray cluster at {address}: "), errors
        assert not list(tmp_path.iterdir())
