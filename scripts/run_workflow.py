"""Run the `run:` steps of a GitHub workflow on this machine; actions are only listed.

    python scripts/run_workflow.py .github/workflows/nightly-fuzz.yml --env BUDGET=20s

The steps run in a scratch directory in which every entry of the checkout is a link, so that they do not write into the
checkout. Ends with the status of the first job that fails, or 0.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]


class _Loader(yaml.BaseLoader):
    """Leaves scalars texts, also the key `on`, and refuses a key that stands twice, as the service does."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        if len(keys) > len(set(keys)):
            raise ValueError(f"not understood: a key twice among {keys}")
        return super().construct_mapping(node, deep)


def read_workflow(path: Path) -> dict[str, Any]:
    """Return a workflow as nested dicts, lists and texts; ValueError where it is none."""
    try:
        workflow = yaml.load(path.read_text(), _Loader)
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: not understood: {error}") from error
    if not isinstance(workflow, dict):
        raise ValueError(f"{path}: not understood: no mapping")
    return workflow


def wanted(condition: str, failed: bool, directory: Path) -> bool:
    """Whether a step runs, by its `if:`; ValueError for a condition that only the service can judge."""
    terms = [term.strip() for term in condition.split("&&")] if condition else []
    if failed and "always()" not in terms:
        return False
    for term in terms:
        files = re.fullmatch(r"hashFiles\('([^']+)'\) != ''", term)
        if files is not None:
            if not any(directory.glob(files[1])):
                return False
        elif term != "always()":
            raise ValueError(f"only the service can judge {term!r}")
    return True


def run_job(job: Mapping[str, Any], environment: Mapping[str, str], directory: Path) -> int:
    """Run the steps of a job in `directory`; returns 0, or the status of the first that fails."""
    failed = 0
    for step in job["steps"]:
        name = step.get("name", step.get("uses", ""))
        if "run" not in step:
            print(f"--- {name}: an action, left out")
            continue
        if not wanted(step.get("if", ""), bool(failed), directory):
            print(f"--- {name}: skipped")
            continue
        print(f"--- {name}: {step['run']}", flush=True)
        variables = [f"{key}={value}" for key, value in environment.items()]
        shell = ["env", *variables, "bash", "-e", "-o", "pipefail", "-c", step["run"]]
        status = subprocess.run(shell, cwd=directory, check=False).returncode
        print(f"--- status {status}")
        if step.get("continue-on-error") != "true":
            failed = failed or status
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("workflow", type=Path)
    parser.add_argument("--job", help="The job to run; all of them when not given.")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="Instead of the workflow's.")
    parser.add_argument("--in", dest="directory", type=Path, help="Scratch directory, to go on in it later.")
    arguments = parser.parse_args()
    given = dict(pair.split("=", 1) for pair in arguments.env)
    with tempfile.TemporaryDirectory() as scratch:
        directory = arguments.directory or Path(scratch)
        directory.mkdir(parents=True, exist_ok=True)
        for path in ROOT.iterdir():
            if path.name != ".git" and not (directory / path.name).exists():
                (directory / path.name).symlink_to(path)
        for name, job in read_workflow(arguments.workflow)["jobs"].items():
            if arguments.job not in (None, name):
                continue
            print(f"job {name}")
            environment = {**job.get("env", {}), **given, "GITHUB_STEP_SUMMARY": str(directory / "step-summary.md")}
            if unknown := [key for key, value in environment.items() if "${{" in value]:
                parser.error(f"give --env {unknown[0]}=...: only the service knows its value")
            if status := run_job(job, environment, directory):
                return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
