"""One forked child per case, one Observation per case, whatever dies.

The worker owns a `ForkExecutor`. It does not fork itself: it asks its runner (tzerlike.processes.runner).
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import tempfile
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tzerlike.core.case import TIR, Case, content_hash
from tzerlike.core.effort import COMPILE_ONLY, THOROUGH_STEPS, Check, Effort
from tzerlike.core.errors import Fault, contained
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Frame, Observation, Stage
from tzerlike.core.results import OVER_TIME, Ending, Results
from tzerlike.coverage import CodeFrame, Indices, SignalDeath, describe, describe_death, in_common
from tzerlike.execution.compare.evidence import evidence_for
from tzerlike.execution.cuda.device import Devices
from tzerlike.execution.diagnosis.ask import ask_walk
from tzerlike.execution.diagnosis.ask_blame import ask_blame
from tzerlike.execution.diagnosis.localise import localised
from tzerlike.execution.diagnosis.walk import Walk
from tzerlike.execution.origin import with_origin
from tzerlike.execution.record import ChildRecord, read_child_record, read_results
from tzerlike.execution.rejection import in_doubt, weighed
from tzerlike.execution.sanitizer import report_in
from tzerlike.execution.sources import with_sources_compiled
from tzerlike.plugins import harness_named
from tzerlike.processes.channel import Garbled
from tzerlike.processes.lane import Lane
from tzerlike.processes.line import Line, Reply
from tzerlike.processes.oom import oom_counters, oom_kills

_STDERR_LIMIT = 16_384
_REPORT_LIMIT = 1 << 18
_STACK_OVERFLOW_DEPTH = 500
_BASELINES = 4096
"""Programs to remember whose baseline build was right."""

_REMEMBERED = 256
"""Jobs to remember what they laid down."""

_BASELINE_SHARE = 4
"""Of a campaign's cases one in so many has its baseline build made where the interpreter knows the results: that build
alone is hardly ever wrong, and takes as long as the other one. Where the other one is wrong both are made."""

_NATIVE_SHARE = 4
"""Of the cases that are screened behind others one in so many is run where the interpreter finds that lowering keeps
its meaning: machine code takes longer than all that, and it is LLVM that makes it."""

_INACCURATE = ("tirx.enable_fast_math", True)
"""An option by which kernels compute functions less accurately than any bound allows for."""

_RUNNING = (Stage.RUN_BASELINE, Stage.RUN)
_LOST = "ChildLost"


class ForkExecutor:
    """Runs cases through a runner; exactly one Observation per case."""

    def __init__(
        self,
        lane: Lane,
        runner: socket.socket,
        limits: Limits,
        effort: Effort = COMPILE_ONLY,
        devices: Devices | None = None,
    ) -> None:
        """`devices` are where kernels run that their interpretation found nothing wrong with."""
        self._lane = lane
        self._line = Line(runner, lane.channel.renew_beat)
        self._oom_counters = oom_counters()
        self._oom_kills = 0
        self.devices = devices or Devices()
        self.limits = limits
        self.effort = effort
        self.settled: Callable[[Case, Observation], bool] = lambda case, seen: False
        """Whether nothing is to be made any more of the offences of a case: it need not run again to be judged."""
        self.shortened: Callable[[Case, Observation], Case] = lambda case, seen: case
        """The case without those of its passes that brought nothing, which is tried first where it has to run again for
        what it reached."""
        self.in_focus: Callable[[Indices], int] | None = None
        """How many of some blocks are in the focus of the campaign, where it has one."""
        self._baselines: OrderedDict[str, None] = OrderedDict()
        self._remembered: OrderedDict[str, list[dict[str, Any]]] = OrderedDict()
        self.before_child: Callable[[], None] = lambda: None
        """Called before a child is asked for; it may raise."""
        self.commits = 0
        """Children whose blocks were new, and counted."""
        self.children = 0
        """Cases and other requests so far: as many children, but for cases that share one."""
        self.overhead: defaultdict[str, float] = defaultdict(float)
        """Seconds not yet booked: `fork` is what waiting for children took beyond their work, `screen` the work in a
        child of many on cases that then ran in one of their own."""

    @property
    def waiting(self) -> bool:
        """Whether the worker is waiting for a child; a signal handler may then raise to give the child up."""
        return self._line.waiting

    def run(
        self,
        cases: Sequence[Case],
        *,
        count: bool = True,
        limits: Limits | None = None,
        effort: Effort | None = None,
    ) -> list[Observation]:
        """Run `cases`, each as in a child of its own; returns as many observations.

        With `count`, the blocks of a case that compiles are added to the total and its observation says how
        many were new; the blocks of every other case are armed again. Many cases are screened in one child first, and
        those that bring nothing are not run again. A case whose builds disagree over the interpreter's step budget is
        run once more, to its end, and one whose build is to blame is walked along its passes, to see which it is. A
        fault of ours is in the observation: of a child it is its exit, and of what comes after, the observation lacks
        what that would have added.
        """
        limits, effort = limits or self.limits, effort or self.effort
        if not count or len(cases) == 1:
            screened = [self._alone(case, count, limits, effort) for case in cases]
        else:
            screened = self._screened(cases, limits, effort)
        return [self._pursued(case, seen, limits, effort) for case, seen in zip(cases, screened, strict=True)]

    def clean(self, cases: Sequence[Case], *, limits: Limits | None = None, effort: Effort | None = None) -> list[bool]:
        """Run cases in turn in one child as long as it lives; return of each that it came to, one at least, whether
        nothing about it can be a finding. Of any other a child of its own has to say what it is."""
        seen = self._run_child(cases, False, limits or self.limits, effort or self.effort)
        return [_is_right(one) and not (one.new_blocks or one.offences or _refused_unoptimised(one)) for one in seen]

    def _screened(self, cases: Sequence[Case], limits: Limits, effort: Effort) -> list[Observation]:
        """Run cases in turn in one child as long as it lives, and in a fresh one after each death; then those behind
        another that bring something once more, each in a child of its own.

        The heap that a case finds depends on those before it in the child. So whatever is to be kept of a case has to
        be seen in a child that has seen no other, and what the others reach is not counted.
        """
        coverage, slot = self._lane.coverage, self._lane.slot
        screened: list[Observation] = []
        again: dict[int, Callable[[], Observation]] = {}
        while len(screened) < len(cases):
            first, *others = self._run_child(cases[len(screened) :], True, limits, effort)
            coverage.rearm(slot, first.new_blocks)
            self._commit()
            screened.append(first)
            for case, seen in zip(cases[len(screened) :], others, strict=False):
                if not _is_right(seen) or (seen.offences and not self.settled(case, seen)):
                    again[len(screened)] = partial(self._alone, case, True, limits, effort)
                elif seen.new_blocks:
                    again[len(screened)] = partial(self._compiled_again, case, seen, limits, effort)
                screened.append(seen)
        self.overhead["screen"] += sum(screened[place].elapsed for place in again)
        return [again[place]() if place in again else seen for place, seen in enumerate(screened)]

    def _compiled_again(self, case: Case, seen: Observation, limits: Limits, effort: Effort) -> Observation:
        """What came of a case, behind others, that reached something new and is right, with the blocks that it reaches
        in a child of its own, maybe `shortened`; what comes of it there, if it does not compile."""
        lean = replace(effort, checks=frozenset())
        smaller = self.shortened(case, seen)
        again = self._alone(smaller, True, limits, lean)
        if smaller != case and not (again.exit is Exit.OK and again.new_blocks):
            smaller, again = case, self._alone(case, True, limits, lean)
        if again.exit is not Exit.OK:
            return self._alone(case, True, limits, effort)
        judged = replace(again, results=seen.results, computes=seen.computes, offences=seen.offences)
        return replace(judged, shortened=smaller.passes)

    def _alone(self, case: Case, count: bool, limits: Limits, effort: Effort) -> Observation:
        (seen,) = self._run_child([case], count, limits, effort)
        if seen.new_blocks:
            self._commit()
        return seen

    def _pursued(self, case: Case, seen: Observation, limits: Limits, effort: Effort) -> Observation:
        """Have what a child saw looked at by the stages that come after it, each as far as nothing of ours fails.

        They are those of tensor IR; of other harnesses, who is guilty of wrong results may be left to find out.
        """
        of_tensor_ir: tuple[tuple[str, Callable[[Case, Observation, Limits, Effort], Observation]], ...] = (
            ("baseline build", self._with_baseline),
            ("other build", self._other_build),
            ("thorough run", self._thorough),
            ("weighing", partial(weighed, self.call)),
            ("origin", partial(with_origin, self.call)),
            ("device", self._on_device),
            ("blame", self._blamed),
        )
        for doing, stage in of_tensor_ir if case.harness == TIR else (("blame", self._asked),):
            after = contained(partial(stage, case, seen, limits, effort), doing)
            seen = replace(seen, faults=(*seen.faults, after)) if isinstance(after, Fault) else after
        return seen

    def _asked(self, case: Case, seen: Observation, limits: Limits, effort: Effort) -> Observation:
        """Have children say who is guilty of wrong results, if that is how the harness of a case does."""
        job, results = harness_named(case.harness).blame, seen.results
        if not job or results is None or not results.blame:
            return seen
        return replace(seen, results=ask_blame(self.call, job, case, results, limits, effort))

    def _with_baseline(self, case: Case, seen: Observation, limits: Limits, effort: Effort) -> Observation:
        """Judge a case with both builds whose baseline build was spared, where the other one is wrong."""
        results = seen.results
        if results is None or results.baseline.ending is not Ending.NOT_RUN or not results.optimised.ending.wrong:
            return seen
        if not _spares_baseline(case) or self._baseline_known(case, effort):
            return seen
        return self._looked_into(case, seen, limits, effort)

    def _other_build(self, case: Case, seen: Observation, limits: Limits, effort: Effort) -> Observation:
        """Run the other build, in a child of its own, of a program whose baseline build took the first along."""
        results = seen.results
        if results is None or not results.defined or results.optimised.ending is not Ending.NOT_RUN:
            return seen
        if not results.baseline.ending.wrong:
            return seen
        (alone,) = self._run_child([case], False, limits, effort, spared=True)
        other = alone.sound().results
        return seen if other is None else replace(seen, results=replace(results, optimised=other.optimised))

    def _thorough(self, case: Case, seen: Observation, limits: Limits, effort: Effort) -> Observation:
        """Run a case again whose builds disagree over the interpreter's step budget, to its end."""
        if seen.results is None or not seen.results.undecided or effort.steps >= THOROUGH_STEPS:
            return seen
        return self._looked_into(case, seen, limits, effort.thorough())

    def _looked_into(self, case: Case, seen: Observation, limits: Limits, effort: Effort) -> Observation:
        """What a child sees of a case on which more is spent, with the blocks that were counted before."""
        (again,) = self._run_child([case], False, limits, effort)
        return replace(again.sound(), new_blocks=seen.new_blocks, pass_blocks=seen.pass_blocks, focused=seen.focused)

    def _blamed(self, case: Case, seen: Observation, limits: Limits, effort: Effort) -> Observation:
        """Say which pass is to blame for what is wrong; a program whose baseline build is right is remembered."""
        self._note_baseline(case, seen.results)

        def run_once(other: Case) -> Observation:
            (again,) = self._run_child([other], False, limits, effort)
            return self._on_device(other, again.sound(), limits, effort)

        def take_walk(other: Case) -> Walk | None:
            return ask_walk(self.call, other, limits, inputs=effort.inputs)

        return localised(case, seen, run_once, take_walk, effort.baseline)

    def _on_device(self, case: Case, seen: Observation, limits: Limits, effort: Effort) -> Observation:
        """Run a kernel that compiles to what means the same, where there is a device for it."""
        results = seen.results
        if results is None or seen.exit is not Exit.OK or not results.defined or results.optimised.ending.wrong:
            return seen
        device = self.devices.of(case.target, effort)
        if device is None or _INACCURATE in case.config.options:
            return seen
        with tempfile.TemporaryDirectory(prefix="tzerlike-device-") as directory:
            archive = Path(effort.inputs) if effort.inputs else Path(directory) / "inputs.npz"
            if not effort.inputs:
                archive.write_bytes(evidence_for(case, results).archive)
            return replace(seen, results=device.judged(case, results, archive, effort, limits))

    def _baseline_known(self, case: Case, effort: Effort) -> bool:
        return not effort.inputs and _inputs_key(case) in self._baselines

    def _note_baseline(self, case: Case, results: Results | None) -> None:
        """Remember the programs whose baseline build was right, so that it need not be built for other passes."""
        if results is not None and results.defined and results.baseline.ending is Ending.AGREES:
            self._baselines[_inputs_key(case)] = None
            if len(self._baselines) > _BASELINES:
                self._baselines.popitem(last=False)

    def explore(
        self, job: str, item: Mapping[str, Any], keeps: Callable[[list[dict[str, Any]]], bool]
    ) -> tuple[list[dict[str, Any]], Observation | None, int]:
        """Do a job as `call` does that is a part of the compiler under test: of one whose records `keeps` accepts, the
        blocks are counted, like those of a case that compiles, and returned; those of any other are armed again."""
        records, death = self.call(job, item, count=True)
        if keeps(records):
            return records, death, self._commit()
        self._lane.coverage.rearm(self._lane.slot)
        return records, death, 0

    def _commit(self) -> int:
        """Count the blocks of the log; return how many are new."""
        new = self._lane.coverage.commit(self._lane.slot)
        self.commits += new > 0
        return new

    def call(
        self, job: str, item: Mapping[str, Any], limits: Limits | None = None, *, count: bool = False
    ) -> tuple[list[dict[str, Any]], Observation | None]:
        """Do a job of the lane's table in one child; return what it laid down and, if the child died of it, how.

        With `count` its blocks stay in the log, for the caller to count or to arm again. Raises Fault on one of ours.
        """
        records, end = self.attempt(job, item, limits, count=count)
        return records, None if end is None else end.sound()

    def recall(self, job: str, item: Mapping[str, Any], limits: Limits | None = None) -> list[dict[str, Any]]:
        """Return what a job lays down that depends on its item alone; of the last ones that a child came through it is
        remembered, since one finding has its program looked at again and again."""
        key = content_hash(json.dumps([job, item]))
        if key in self._remembered:
            self._remembered.move_to_end(key)
            return self._remembered[key]
        records, death = self.call(job, item, limits)
        if death is None:
            self._remembered[key] = records
            if len(self._remembered) > _REMEMBERED:
                self._remembered.popitem(last=False)
        return records

    def attempt(
        self, job: str, item: Mapping[str, Any], limits: Limits | None = None, *, count: bool = False
    ) -> tuple[list[dict[str, Any]], Observation | None]:
        """Do a job as `call` does; a fault of ours is an observation as well, behind what was laid down before it."""
        channel = self._lane.channel
        channel.lay_request({"job": job, "item": item, "count": count})
        done, status, timed_out, _ = self._wake(limits or self.limits, 1)
        records: list[dict[str, Any]] = []
        try:
            for record in channel.results():
                if record.get("exit") in (Exit.FAULT.value, Exit.OOM.value):
                    # It had no time to do so itself.
                    self._lane.coverage.rearm(self._lane.slot)
                match record.get("exit"):
                    case Exit.FAULT.value:
                        return records, _of_fault(read_child_record(record))
                    case Exit.OOM.value:
                        return records, Observation(
                            Exit.OOM, channel.stage(), "over the memory limit", channel.pass_name()
                        )
                records.append(record)
            return records, None if done else self._died(status, timed_out, 0)
        except Garbled as error:
            return records, self._written_over(error, 0, runs=False)

    def _run_child(
        self, cases: Sequence[Case], count: bool, limits: Limits, effort: Effort, *, spared: bool = False
    ) -> list[Observation]:
        known = [self._baseline_known(case, effort) for case in cases]
        self._lane.channel.lay_request(
            {
                "count": count,
                "effort": effort.to_json(),
                "baselines": known,
                "spares_baseline": [spared or (count and _spares_baseline(case)) for case in cases],
                "spares_run": [count and at > 0 and _spares_run(case) for at, case in enumerate(cases)],
                "cases": [case.to_json() for case in cases],
            }
        )
        done, status, timed_out, waited = self._wake(limits, len(cases))
        observations: list[Observation] = []
        logged = 0
        try:
            for data, _ in zip(self._lane.channel.results(), cases, strict=False):
                record = with_sources_compiled(cases[len(observations)], read_child_record(data))
                if record.exit in (Exit.FAULT, Exit.OOM):
                    # It had no time to do so itself.
                    self._lane.coverage.rearm(self._lane.slot, logged)
                observations.append(self._finished(record, count))
                logged = record.log[1]
            if done and not observations:
                raise Garbled("a child that is done left no record")
            if not done and len(observations) < len(cases):
                observations.append(self._died(status, timed_out, len(observations), logged))
        except Garbled as error:
            observations.append(self._written_over(error, logged, runs=Check.RESULTS in effort.checks))
        inside = sum(o.elapsed for o in observations)
        self.overhead["fork"] += max(0.0, waited - inside)
        return observations

    def _wake(self, limits: Limits, count: int) -> tuple[Any, ...]:
        """Have a child take the request in the channel; returns whether it got done, its status, whether it timed out,
        and the seconds that took.

        Where somebody else kills the child, or the runner with it, another child takes the request; where that happens
        again, the status is that of a SIGKILL.
        """
        self.before_child()
        lane = self._lane
        self.children += count
        began = time.perf_counter()
        reply = self._woken(limits, count)
        if reply is None or self._killed(reply):
            lane.coverage.rearm(lane.slot)
            lane.channel.lay_again()
            self._oom_kills = oom_kills(self._oom_counters)
            reply = self._woken(limits, count) or Reply(False, signal.SIGKILL)
        return reply.done, reply.status, reply.timed_out, time.perf_counter() - began

    def _woken(self, limits: Limits, count: int) -> Reply | None:
        lane = self._lane
        os.lseek(lane.stderr, 0, os.SEEK_SET)
        os.ftruncate(lane.stderr, 0)
        lane.coverage.begin(lane.slot)
        lane.death.clear()
        lane.stacks.clear()
        return self._line.ask(limits.seconds, 10 * limits.seconds * count + 5, limits.memory)

    def _killed(self, reply: Reply) -> bool:
        """Whether a child ended for a reason outside of it: killed, or stopped while it waited for its request."""
        if reply.done:
            return False
        return _is_kill(reply.status, reply.timed_out) or not self._reached()

    def _reached(self) -> bool:
        """Whether the child has begun with a case."""
        try:
            return self._lane.channel.stage() is not Stage.MUTATE
        except Garbled:
            return True

    def _finished(self, record: ChildRecord, count: bool) -> Observation:
        """The observation of a case whose child came to its end; Garbled when its record cannot be."""
        if record.exit is Exit.FAULT:
            return _of_fault(record)
        results, rejection = read_results(record)
        new_blocks = focused = 0
        # What was reached by a case whose sources are refused in the worker cannot be armed behind the child's back.
        if (record.exit is Exit.OK or record.sources) and count:
            start, stop = record.log
            if not start <= stop <= self._lane.coverage.new(self._lane.slot):
                raise Garbled(f"a record of a child: blocks {start} to {stop}")
            new_blocks = stop - start
            if new_blocks and self.in_focus is not None:
                focused = self.in_focus(self._lane.coverage.new_indices(self._lane.slot)[start:stop])
        return Observation(
            exit=record.exit,
            stage=record.stage,
            message=record.message,
            pass_name=record.pass_name,
            backtrace=tuple(Frame(name, "") for name in record.backtrace),
            raised_at=record.raised_at,
            stderr="" if record.exit is Exit.OK else _end_of(self._written()),
            elapsed=sum(record.seconds.values()),
            seconds=record.seconds,
            new_blocks=new_blocks,
            pass_blocks=record.pass_blocks,
            focused=focused,
            peak_memory=record.peak_memory,
            results=results,
            rejection=rejection,
            offences=record.offences,
            origin=record.origin,
            computes=record.computes,
        )

    def _written_over(self, error: Garbled, logged: int, *, runs: bool) -> Observation:
        """What a channel that cannot be read says: a program that ran wrote over it, unless none did.

        `runs` says whether programs run in such a child at all, for when not even the stage reads.
        """
        lane = self._lane
        lane.coverage.rearm(lane.slot, logged)
        try:
            stage = lane.channel.stage()
            ran = stage in _RUNNING or any(name.value in lane.channel.seconds() for name in _RUNNING)
        except Garbled:
            stage, ran = Stage.RUN, runs
        if not ran:
            return Observation.of_fault(Fault(_LOST, ("processes/channel.py",), str(error), stage.value), stage)
        message = f"the program wrote over its process: {error}"
        in_baseline = stage is Stage.RUN_BASELINE
        results = lane.channel.partial_results()
        return Observation(
            Exit.CRASH,
            Stage.RUN_BASELINE if in_baseline else Stage.RUN,
            message,
            results=None if results is None else results.died(in_baseline, message),
        )

    def _died(self, status: int, timed_out: bool, index: int, logged: int = 0) -> Observation:
        """The observation of the case `index` of which a child died; `logged` blocks are those of the cases before it.

        Garbled where that does not read.
        """
        lane = self._lane
        channel = lane.channel
        if _is_kill(status, timed_out):
            return self._killed_twice(logged)
        if channel.case_index() != index or channel.stage() is Stage.MUTATE:
            text = f"the child ended with status {status} before it reached its case"
            return Observation.of_fault(Fault(_LOST, ("processes/served.py",), text), Stage.LOAD)
        lane.coverage.rearm(lane.slot, logged)
        channel.enter_stage(channel.stage())
        seconds = channel.seconds()
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        written = self._written()
        stderr = _end_of(written)
        exit_, message = _death_of(number, timed_out, os.waitstatus_to_exitcode(status), stderr)
        death = lane.death.read()
        report = report_in(written.decode(errors="replace"), lambda address: _frame(describe(address)))
        results, stage = channel.partial_results(), channel.stage()
        if results is not None and stage is Stage.DONE:
            # What kills a child that is done with its case is what ran there.
            stage = Stage.RUN
        if exit_ is Exit.CONFINED:
            message, results = confined_by(death), None
        if results is not None and stage in _RUNNING:
            ending = Ending.REFUSED if exit_ is Exit.OOM else Ending.DIED
            results = results.died(stage is Stage.RUN_BASELINE, message, ending)
        frames: tuple[Frame, ...] = ()
        depth = 0 if death is None else death.depth or 0
        overflow = death is not None and death.at_end_of_stack and (not depth or depth > _STACK_OVERFLOW_DEPTH)
        if exit_ is Exit.CRASH and death is not None:
            frames = tuple(map(_frame, describe_death(death)))
        elif exit_ is Exit.TIMEOUT:
            frames = tuple(map(_frame, in_common(lane.stacks.read())))
        if report is not None:
            exit_, message, frames = Exit.CRASH, f"AddressSanitizer: {report.kind}\n{report.text}", report.frames
        return Observation(
            exit=exit_,
            stage=stage,
            message=message,
            pass_name=channel.pass_name(),
            signal=number,
            backtrace=frames,
            depth=depth,
            stack_overflow=overflow,
            stderr=stderr,
            elapsed=sum(seconds.values()),
            seconds=seconds,
            results=results,
        )

    def _killed_twice(self, logged: int) -> Observation:
        """What is known of a case at which two children were killed: that the kernel did it, or nothing."""
        lane = self._lane
        lane.coverage.rearm(lane.slot, logged)
        stage = lane.channel.stage() if self._reached() else Stage.LOAD
        if oom_kills(self._oom_counters) > self._oom_kills:
            exit_, message = Exit.OOM, "the kernel ended it for lack of memory"
        else:
            exit_, message = Exit.UNKNOWN, "SIGKILL, and nothing says why"
        return Observation(exit_, stage, message, lane.channel.pass_name(), signal.SIGKILL)

    def _written(self) -> bytes:
        """The end of what the child has written to its standard error, at most _REPORT_LIMIT bytes."""
        size = os.fstat(self._lane.stderr).st_size
        return os.pread(self._lane.stderr, _REPORT_LIMIT, max(0, size - _REPORT_LIMIT))


def _of_fault(record: ChildRecord) -> Observation:
    return Observation.of_fault(record.fault, record.stage, record.pass_name)


def _end_of(written: bytes) -> str:
    """The last of what a child has written, as much as an observation keeps."""
    return written[-_STDERR_LIMIT:].decode(errors="replace")


def _is_right(seen: Observation) -> bool:
    """Whether nothing seems wrong with how a case compiles, runs or is refused; its passes may do what none may."""
    results, rejection = seen.results, seen.rejection
    refused = seen.exit is Exit.REJECTED and (rejection is None or not in_doubt(rejection, seen.message))
    right = results is None or not (results.baseline.ending.wrong or results.optimised.ending.wrong)
    return (seen.exit is Exit.OK or refused) and right


def _refused_unoptimised(seen: Observation) -> bool:
    """Whether TVM refused to build without optimisation what it built with it."""
    return seen.results is not None and seen.results.baseline.ending is Ending.REFUSED


def _spares_baseline(case: Case) -> bool:
    return int(case.id[:8], 16) % _BASELINE_SHARE > 0


def _spares_run(case: Case) -> bool:
    return int(case.id[8:16], 16) % _NATIVE_SHARE > 0


def _inputs_key(case: Case) -> str:
    """A name for a program with its inputs."""
    return content_hash(f"{case.input_seed} {case.ir}")


def _is_kill(status: int, timed_out: bool) -> bool:
    """Whether a child died of a SIGKILL that was not its runner's."""
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL and not timed_out


_WARNING = re.compile(r"\[\d\d:\d\d:\d\d\] \S+: Warning: ")
"""How TVM begins a warning, which says nothing of a death that comes later."""


def _death_of(number: int, timed_out: bool, exit_code: int, stderr: str) -> tuple[Exit, str]:
    if timed_out or number == signal.SIGPROF:
        return Exit.TIMEOUT, OVER_TIME
    if "bad_alloc" in stderr or "out of memory" in stderr.lower():
        return Exit.OOM, "over the memory limit"
    if number == signal.SIGSYS:
        return Exit.CONFINED, ""
    if number:
        said = (line for line in reversed(stderr.splitlines()) if line.strip() and not _WARNING.match(line))
        last = next(said, "")
        return Exit.CRASH, f"{signal.Signals(number).name} {last}".strip()
    return Exit.CRASH, f"the compiler ended the process with status {exit_code}"


def confined_by(death: SignalDeath | None) -> str:
    """Say which system call it was that a confined child may not make."""
    what = "it asked the kernel for what a case may not do"
    return f"{what}: {death.call}" if death is not None and death.call else what


def _frame(found: CodeFrame | None) -> Frame:
    if found is None:
        return Frame("unmapped", "")
    return Frame(found.name or f"{found.library}+{found.offset:#x}", found.library)
