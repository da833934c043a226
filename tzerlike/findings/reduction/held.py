"""Reduction of the data in a bundle's environment: a finding seldom needs all calls on a schedule."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from tzerlike.core.shrink import Attempt, Shrinking, Task
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles.bundle import Bundle
from tzerlike.findings.programs import Programs
from tzerlike.findings.retrial import retrial_of
from tzerlike.oracles.examiner import smaller_held
from tzerlike.oracles.protocol import Environment


def search_held(
    bundle: Bundle, executor: ForkExecutor, oracles: Sequence[str], programs: Programs
) -> Shrinking[Environment]:
    """A search for an environment that holds less and shows the finding of a bundle on its case."""
    probe = bundle.probe

    def offered(environment: Environment) -> Iterator[Attempt[Environment]]:
        for held in () if probe is None else smaller_held(probe, environment):
            yield partial(dict[str, object], {**environment, **held})

    def shows(environment: Environment) -> bool:
        look = retrial_of(replace(bundle, environment=environment), executor, oracles, programs).look
        return any(bundle.shown_by(found.signatures) for found in look(bundle.stored.case).findings)

    return Shrinking(bundle.environment, Task((offered,), _size, _text, shows))


def _size(environment: Environment) -> tuple[int, str]:
    """Its length, where a place that is counted from the end is no longer than one from the beginning, and less."""
    text = _text(environment)
    return len(text.replace("[-", "[")), text


def _text(environment: Environment) -> str:
    return json.dumps(environment, sort_keys=True)
