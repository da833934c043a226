"""An oracle in one file: the program's text is longer than fifteen lines once it is simplified."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding, Signed
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.oracles.examiner import Ask, Look, Made
from tzerlike.oracles.protocol import Account, Environment, Oracle, Probe
from tzerlike.processes.channel import Channel
from tzerlike.systems.refusal import CompilerRefused, ask_compiler
from tzerlike.systems.tvm_api import load_ir, script_of, tirx

MOST = 15


def judge(case: Case, seen: Observation) -> Finding | None:
    long = seen.stage is Stage.TEXT and seen.message.startswith("too long")
    return Finding("ice-on-valid", ("length", "StmtSimplify"), case, seen) if long else None


def owns(finding: Signed, seen: Observation, environment: Environment) -> bool:
    return finding.parts[:1] == ("length",)


def account(finding: Signed, seen: Observation, environment: Environment) -> Account:
    return Account("A program is long", "Programs are short.", "tirx.StmtSimplify", f"leaves it {seen.message}.")


def wants(made: Made) -> bool:
    return made.inserted


def look(ask: Ask, made: Made) -> Look:
    return look_again(ask, made.case, {})


def look_again(ask: Ask, case: Case, held: Environment, inputs: str = "", layout: int = 0) -> Look:
    records, _ = ask({"ir": case.ir})
    lines = records[0]["lines"] if records else 0
    if lines <= MOST:
        return Look(word="short")
    finding = judge(case, Observation(Exit.OK, Stage.TEXT, f"too long: {lines} lines"))
    return Look((finding,) if finding else (), "long", held={"lines": lines})


def examine(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        text = ask_compiler(lambda: script_of(tirx.transform.StmtSimplify()(load_ir(item["ir"]))))
    except CompilerRefused:
        text = ""
    signal.setitimer(signal.ITIMER_PROF, 0)
    channel.add_result({"lines": len(text.splitlines())})


ORACLE = Oracle(judge, probe=Probe("length", __name__, owns, account))
