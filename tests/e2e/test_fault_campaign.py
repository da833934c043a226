"""Faults of our own in a campaign on the real compiler, from the command line to the replay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import Command

# The zygote says `gc.freeze` once all is loaded: nothing else of the campaign has to know of it.
PLANT = """
import gc, os, sys

if "tzerlike.processes.zygote" in sys.orig_argv:
    freeze = gc.freeze

    def plant():
        from tzerlike.execution.compare import results
        from tzerlike.execution import executor
        from tzerlike.findings.faults import limit
        from tzerlike.harnesses.tir import pairs
        from tzerlike.oracles.round_trip import examiner

        limit.LIMIT = 2.0
        every = {"interpret_seeded": 13, "localised": 17, "attempted": 3, "_fault_of": 3}
        seen = dict.fromkeys(every, 0)

        def planted(module, name):
            call = getattr(module, name)

            def failing(*arguments, **named):
                seen[name] += 1
                # In a child the count is that of the zygote: there the program decides.
                text = arguments[0].script() if name == "interpret_seeded" else arguments[0]
                number = len(text) if name in ("interpret_seeded", "_fault_of") else seen[name]
                if number % every[name] == 0:
                    raise KeyError(f"planted in {name}")
                return call(*arguments, **named)

            setattr(module, name, failing)

        for module, name in ((results, "interpret_seeded"), (executor, "localised"), (pairs, "attempted"),
                             (examiner, "_fault_of")):
            planted(module, name)
        freeze()

    gc.freeze = plant
"""


@pytest.mark.long
def test_a_campaign_outlives_its_faults_and_a_replay_says_when_they_are_cured(
    tzerlike: Command, tmp_path: Path
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(PLANT)
    faulty = {"PYTHONPATH": str(tmp_path / "site")}
    out = tmp_path / "c"
    fuzz = ("fuzz", "--seed", "7", "--jobs", "1", "--oracles", "crash,inconsistency,roundtrip", "--out", out)

    done = tzerlike(*fuzz, "--iterations", "45", "--ui", "plain", **faulty)
    assert done.returncode == 0, done.stderr
    assert "internal error" not in done.stdout + done.stderr
    assert done.stdout.count("WARNING: tzerlike itself failed on") == 2, "once while it ran, once at its end"
    stats = json.loads((out / "stats.json").read_text())
    assert stats["iterations"] == 45
    faults = {path.name: json.loads((path / "fault.json").read_text()) for path in (out / "faults").iterdir()}
    assert set(stats["faults"]) == set(faults)
    planted = {signature: fault["frames"][0].split()[-1] for signature, fault in faults.items()}
    assert set(planted.values()) == {"failing"}
    doings = {fault["doing"] for fault in faults.values()}
    assert {"interpret", "blame", "text"} < doings, "and a mutator by its name"
    assert all("planted in" in fault["text"] for fault in faults.values())
    assert stats["exits"]["fault"] == stats["faults"][next(s for s in faults if faults[s]["doing"] == "interpret")]

    told = tzerlike("report", out)
    assert "faults of tzerlike itself" in told.stdout

    bundle = next(out / "faults" / s for s in faults if faults[s]["doing"] == "interpret")
    again = tzerlike("replay", bundle, **faulty)
    assert (again.returncode, again.stdout.split()[:2]) == (0, ["shows", "1/1"]), again.stderr
    cured = tzerlike("replay", bundle)
    assert (cured.returncode, cured.stdout.split()[:2]) == (1, ["cured", "0/1"]), cured.stderr
