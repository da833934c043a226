"""The commands of the documents, as they stand but for budgets: each parses, and what can be run here is run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tests.e2e.conftest import ROOT, environment
from tzerlike.cli.main import cli

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN = ("README", "guide", "forks", "research", "evaluation", "performance", "scale")
"""The pages whose commands are run here, but for those that ELSEWHERE names."""

ELSEWHERE = {
    ("README", "pip install"): "tests/e2e/test_wheel.py::test_what_is_installed_works_without_a_compiler",
    ("README", "--harness graph"): "tests/e2e/test_tutorial.py::test_a_first_finding_in_a_model_takes_two_commands",
    ("README", "models/findings"): "tests/e2e/test_tutorial.py::test_a_first_finding_in_a_model_takes_two_commands",
    ("CONTRIBUTING", "make"): "Makefile::test-long",
    ("tutorial", "$ tzerlike"): "tests/e2e/test_tutorial.py::test_every_command_of_the_tutorial_works",
    ("tutorial", "fuzzing"): "tests/e2e/test_wheel.py::test_what_is_installed_works_without_a_compiler",
    ("guide", "--plugin mine"): "tests/e2e/test_plugins.py::test_a_campaign_draws_the_mutators_of_a_plugin",
    ("guide", "--harness mine"): "tests/e2e/test_toy_harness.py::test_a_campaign_finds_the_planted_bug",
    (
        "guide",
        "--against main",
    ): "tests/e2e/test_added_tvms.py::test_where_the_code_is_the_same_there_is_nothing_to_test",
    ("guide", "tvm26"): "tests/e2e/test_versions.py::test_three_versions_are_compared",
    ("guide", "--tvm mine"): "tests/e2e/test_instrumented.py::test_a_campaign_on_an_instrumented_build",
    ("guide", "tvm build"): "tests/e2e/test_tvm_build.py::test_edges_have_their_places",
    ("", "--system mine"): "tests/e2e/test_system.py::test_a_campaign_records_its_system_and_uses_its_names",
    ("forks", "tvm add"): "tests/e2e/test_added_tvms.py::test_a_campaign_compares_results_and_ends_well",
    ("forks", "--against installed"): "tests/e2e/test_added_tvms.py::test_findings_are_told_apart_by_who_shows_them",
    ("forks", "--tvm mine"): "tests/e2e/test_added_tvms.py::test_a_campaign_compares_results_and_ends_well",
    ("forks", "--tvm all"): "tests/e2e/test_added_tvms.py::test_findings_are_told_apart_by_who_shows_them",
    ("machines", "--shard"): "tests/e2e/test_machines.py::test_two_machines_share_a_directory",
    ("machines", "cluster status"): "tests/e2e/test_machines.py::test_two_machines_share_a_directory",
    ("machines", "--cluster"): "tests/e2e/test_transports.py::test_a_campaign_on_ray_in_short",
    ("machines", "s3://"): "tests/e2e/test_machines.py::test_a_campaign_at_a_uri_is_resumed_and_fetched",
}
"""What runs a command in another way, by the page and by what is in the line: it takes a cluster, a plug-in, a build of
half an hour, an environment of another version or one without a compiler."""

PROGRAM = re.compile(r"(\.?[\w/]*bin/)?(tzerlike|python3?|pip|make|export) ")


def called(path: Path) -> list[tuple[str, list[str]]]:
    """The command lines of a page, each with what the page shows of its output; the reference has none."""
    text = path.read_text()
    found = []
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if language not in ("", "console", "sh"):
            continue
        prompts = block.startswith("$ ")
        for line in re.sub(r"\\\n *", "", block).splitlines():
            if line.startswith("$ ") or (not prompts and PROGRAM.match(line)):
                found.append((line.split("  #")[0].strip(), []))
            elif prompts:
                found[-1][1].append(line)
    return found + [(line.strip(), []) for line in re.findall(r"^    python .*$", text, re.MULTILINE)]


def elsewhere(page: str, line: str) -> str:
    """The test that runs a line of a page in another way; "" where it is run here."""
    return next((test for (of, mark), test in ELSEWHERE.items() if of in ("", page) and mark in line), "")


def commands(path: Path) -> list[str]:
    """The calls of tzerlike on a page: those that are shown, and those in the text that have options."""
    lines = [line for line, _ in called(path)] + re.findall(r"`(tzerlike [a-z][^`]* --[^`]*)`", path.read_text())
    calls = [line[line.index("tzerlike ") :] for line in lines if re.match(r"(\$ )?(\.venv/bin/)?tzerlike ", line)]
    return [re.sub(r"\s+#.*| > .*", "", call).strip() for call in calls]


EVERY = [(path.name, line) for path in DOCUMENTS for line in commands(path)]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_every_command_in_the_documents_is_run_by_a_test(path: Path) -> None:
    for line, _ in called(path):
        place, _, name = elsewhere(path.stem, line).partition("::")
        if not place:
            assert path.stem in RUN, line
        else:
            assert re.search(rf"^(def )?{name}\b", (ROOT / place).read_text(), re.MULTILINE), f"{place}::{name}"


def test_a_block_in_another_language_hides_no_command(tmp_path: Path) -> None:
    """One that is closed is no beginning of another."""
    page = tmp_path / "page.md"
    page.write_text("```toml\n[known]\n```\n\n```\n$ tzerlike doctor\nok\n```\n\n    python scripts/speed.py\n")
    assert called(page) == [("$ tzerlike doctor", ["ok"]), ("python scripts/speed.py", [])]
    page.write_text("```\npython a.py x \\\n    y\n```\n")
    assert called(page) == [("python a.py x y", [])], "a line goes on behind a backslash"


def test_no_test_of_a_command_is_named_in_vain() -> None:
    lines = [(path.stem, line) for path in DOCUMENTS for line, _ in called(path)]
    for page, mark in ELSEWHERE:
        assert any(page in ("", of) and mark in line for of, line in lines), (page, mark)


@pytest.mark.parametrize(("document", "line"), EVERY)
def test_every_command_in_the_documents_parses(document: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command: click.Command = cli
    # A command keeps the help option that it has under its first parent.
    parent = click.Context(cli, **cli.context_settings)
    words = shlex.split(line)[1:]
    while isinstance(command, click.Group) and words:
        name, found, words = command.resolve_command(parent, words)
        assert found is not None, name
        command = found
    # Files are there or not: that is for whoever runs it.
    for parameter in command.params:
        if isinstance(parameter.type, click.Path):
            monkeypatch.setattr(parameter, "type", click.STRING)
    command.make_context(command.name, words, parent)


OWN = """\
from tvm.script import tirx as T

N = 4


@T.prim_func
def main(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    for i in range(N):
        B[i] = A[i] + T.float32(1)
"""


SHORTER = {
    r"--budget \w+": "--budget 5s",
    r"--iterations (?!400)\d+": "--iterations 3",
    r"--jobs 8": "--jobs 2",
    r"--pairs \d+": "--pairs 3",
    r"--rounds \d+": "--rounds 1",
    r"--begin \d+ --seconds \d+ --machines .*": "--begin 1 --seconds 2 --machines 1",
    r"--seconds \d{2,}": "--seconds 5",
    r"--seeds 1 2 .*": "--seeds 1 --budget 5s",
    r"\.\.\.": "*",
    "CAMPAIGN": "nightly",
    "/elsewhere/.venv/bin/": "",
    r"^\$ |\.venv/bin/": "",
}
"""What is another in a line that is run: numbers are small, and what the page leaves to the reader is filled in."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a small campaign under each name that a page gives to one, and its bundles."""
    root = tmp_path_factory.mktemp("pages")
    (root / "my_module.py").write_text(OWN)
    (root / "known.toml").write_text("")
    for name in ("docs", "seeds", "scripts"):
        shutil.copytree(ROOT / name, root / name)
    (root / "bin").mkdir()
    for name, run in (("tzerlike", "-m tzerlike "), ("python", "")):
        script = root / "bin" / name
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {run}"$@"\n')
        script.chmod(0o755)
    for line in (
        "tzerlike fuzz --iterations 60 --jobs 1 --seed 5 --out campaign-x",
        "cp -r campaign-x nightly",
        "tzerlike run docs/bugs/reuse_of_a_live_buffer.py --out nightly/findings",
        "cp -r nightly nightly-1; cp -r nightly nightly-2; cp -r nightly monday; cp -r nightly tuesday",
        "cp -r nightly lastweek; cp -r nightly paper-1; mkdir mended; cp -r campaign-x/findings/* mended",
    ):
        done = call(root, line)
        assert done.returncode in (0, 1), f"{line}: {done.stdout}{done.stderr}"
    return root


def call(place: Path, line: str) -> subprocess.CompletedProcess[str]:
    variables = environment(PYTHONPATH=str(ROOT))
    variables["PATH"] = f"{place / 'bin'}:{os.environ['PATH']}"
    # The shell waits, and says how a command died.
    return subprocess.run(
        f"{line}; exit $?", shell=True, cwd=place, env=variables, capture_output=True, text=True, check=False
    )


def shortened(line: str) -> str:
    for pattern, small in SHORTER.items():
        line = re.sub(pattern, small, line)
    if line.startswith(("tzerlike fuzz", "tzerlike reduce")) and not re.search("--budget|--iterations", line):
        line += " --budget 5s"
    if line.startswith("tzerlike fuzz --resume"):
        # It goes on from a campaign that has had more than five seconds.
        return line.replace("--budget 5s", "--budget 8h --iterations 61")
    if line.startswith("tzerlike fuzz") and "--iterations" not in line:
        return "rm -rf again; " + re.sub(r" --out \S+", "", line) + " --out again"
    return line


def is_shown(shown: list[str], said: str) -> bool:
    """Whether a page shows what comes, but for `...` and how far a reduction got in its time."""
    pattern = re.escape("\n".join(line.rstrip() for line in shown)).replace(re.escape("..."), ".*")
    if pattern.startswith("reduced:"):
        pattern = re.sub(r"\d+", r"\\d+", pattern).replace("reduced:", "(reduced|out of budget, best so far):", 1)
    return re.search(pattern, "\n".join(line.rstrip() for line in said.splitlines())) is not None


@pytest.mark.long
@pytest.mark.parametrize("page", RUN)
def test_every_command_of_a_page_runs_and_says_what_the_page_shows(page: str, place: Path) -> None:
    (path,) = (path for path in DOCUMENTS if path.stem == page)
    bad = []
    for line, shown in called(path):
        if elsewhere(page, line):
            continue
        short = shortened(line)
        done = call(place, short)
        said = done.stdout + done.stderr
        # 1: there is a finding, a bundle still shows, or one stays as it is. What shows a bug may end in any way.
        if (done.returncode not in (0, 1) and "repro.py" not in line) or "Traceback" in done.stderr:
            bad.append(f"{short}: {done.returncode} {said[-600:]}")
        elif not is_shown(shown, said):
            bad.append(f"{short}: the page shows\n{chr(10).join(shown)}\nand there comes\n{said[-900:]}")
    assert not bad, "\n".join(bad)
