"""Questions that take running what was built, which may kill the process that asks.

Each has a name. It is laid down before the run, and the answer behind it, so that another child can go on with the
answers that there are (tzerlike.execution.diagnosis.ask_blame).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tzerlike.core.observation import Stage
from tzerlike.core.results import Ran
from tzerlike.core.schema import converted
from tzerlike.harnesses.graph.building import Building, Run, ran
from tzerlike.processes.channel import Channel


class Asking:
    """Asks what is not known yet; `known` has answers by the names of questions, as JSON."""

    def __init__(self, channel: Channel, known: Mapping[str, Any]) -> None:
        self._channel, self._known = channel, known

    def ran(self, name: str, building: Building, runs: Sequence[Run], build: Callable[[], Any]) -> Ran:
        """Return how a build runs, compared with what is expected; CompilerRefused where it cannot be built."""
        return converted(self.answer(name, lambda built: asdict(ran(building, built, runs)), build), Ran, name)

    def answer(self, name: str, ask: Callable[[Any], Any], build: Callable[[], Any]) -> Any:
        """Return what `ask` makes of a build that it runs, or the Ran of one that a child died of, as JSON."""
        if name in self._known:
            return self._known[name]
        built = build()
        self._channel.add_result({"asks": name})
        self._channel.enter_stage(Stage.RUN)
        answer = ask(built)
        self._channel.enter_stage(Stage.BUILD_BASELINE)
        self._channel.add_result({"asks": name, "answer": answer})
        return answer
