"""Bundles of mutations that killed their worker: TVM died while a program was built in memory."""

from __future__ import annotations

import signal
from dataclasses import dataclass, replace
from pathlib import Path

from tzerlike.bundle import Confirmation, write_bundle
from tzerlike.campaign import CampaignDir
from tzerlike.config import CampaignConfig
from tzerlike.limits import Limits
from tzerlike.observation import Exit, Observation, Stage
from tzerlike.oracles.finding import Finding

_REPRO = '''\
"""{title}

TVM dies while a program is built in memory, before any pass runs, so this needs tzerlike to build it.
"""

import pathlib
import subprocess
import sys

bundle = pathlib.Path(__file__).resolve().parent
sys.exit(1 if subprocess.run([sys.executable, "-m", "tzerlike", "replay", bundle]).returncode == 0 else 0)
'''


@dataclass(frozen=True, slots=True)
class Mutation:
    """A mutation by its coordinates: its draws come from `rng_for(seed, worker, iteration, "mutate", draw)`."""

    mutator: str
    iteration: int
    draw: int
    parent: str
    worker: int


def bundle_mutation(mutation: Mutation, number: int, config: CampaignConfig, directory: CampaignDir) -> Path | None:
    """Write the bundle of a mutation that died of signal `number`; None when its signature has one already.

    UserError when the parent's corpus file cannot be read.
    """
    stored = directory.load_case(mutation.parent)
    name = signal.Signals(number).name
    seen = Observation(
        Exit.CRASH,
        Stage.MUTATE,
        message=f"{name} while mutator {mutation.mutator} built a program",
        pass_name=mutation.mutator,
        signal=number,
    )
    finding = Finding("crash", (Stage.MUTATE.value, mutation.mutator, name), stored.case, seen)
    provenance = replace(
        stored.provenance,
        parent=mutation.parent,
        mutator=mutation.mutator,
        worker=mutation.worker,
        iteration=mutation.iteration,
    )
    return write_bundle(
        directory.findings,
        finding,
        replace(stored, provenance=provenance),
        Limits(config.timeout, config.memory_limit),
        Confirmation(0, 0),
        "",
        _REPRO.format(title=finding.title),
        {"seed": config.seed, "draw": mutation.draw},
    )
