import os
import random
import time

import pytest

from tzerlike.core.observation import Stage
from tzerlike.core.results import Ending, Ran, Results
from tzerlike.processes.channel import Channel, Garbled

RESULTS = (16 << 20) + 4096
"""Where the records of a channel begin."""


def test_what_a_killed_child_noted_is_there() -> None:
    channel = Channel()
    channel.lay_request({"cases": [1, 2]})
    child = os.fork()
    if child == 0:
        assert channel.request() == {"cases": [1, 2]}
        channel.begin_case(0)
        channel.add_result({"exit": "ok"})
        channel.begin_case(1)
        channel.enter_stage(Stage.PASSES)
        channel.note_pass("tirx.UnrollLoop")
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    assert list(channel.results()) == [{"exit": "ok"}]
    assert channel.case_index() == 1
    assert channel.stage() is Stage.PASSES
    assert channel.pass_name() == "tirx.UnrollLoop"


def test_time_is_booked_on_the_stage_it_was_spent_in() -> None:
    channel = Channel()
    channel.begin_case(0)
    channel.enter_stage(Stage.BUILD)
    time.sleep(0.02)
    channel.enter_stage(Stage.DONE)
    seconds = channel.seconds()
    assert seconds["build"] >= 0.02
    assert seconds["load"] < seconds["build"]


def test_a_new_request_forgets_the_last_one() -> None:
    channel = Channel()
    channel.lay_request({"cases": []})
    channel.add_result({"exit": "ok"})
    channel.begin_case(5)
    channel.enter_stage(Stage.RUN)
    channel.note_mutation("swap", 3, 0, "ab")
    channel.lay_request({"cases": []})
    assert list(channel.results()) == []
    assert channel.case_index() == 0
    assert channel.seconds() == {}


def test_the_mutation_under_way() -> None:
    channel = Channel()
    assert channel.mutation() is None
    channel.note_mutation("constants", 17, 2, "f" * 64)
    assert channel.mutation() == ("constants", 17, 2, "f" * 64)
    channel.clear_mutation()
    assert channel.mutation() is None


def test_what_does_not_fit_is_refused() -> None:
    channel = Channel()
    with pytest.raises(ValueError, match="request of"):
        channel.lay_request({"cases": ["x" * (17 << 20)]})


def test_long_pass_names_are_cut() -> None:
    channel = Channel()
    channel.note_pass("p" * 1000)
    assert channel.pass_name() == "p" * 191


def test_what_is_known_of_results_outlives_the_child_and_not_its_case() -> None:
    channel = Channel()
    channel.begin_case(0)
    assert channel.partial_results() is None
    results = Results("defined", steps=7, scheme="small", baseline=Ran(Ending.AGREES))
    if (child := os.fork()) == 0:
        channel.note_results(results)
        os._exit(0)
    os.waitpid(child, 0)
    assert channel.partial_results() == results
    channel.begin_case(1)
    assert channel.partial_results() is None


def test_results_that_are_too_long_keep_their_verdict() -> None:
    channel = Channel()
    channel.note_results(Results("undefined", "race", "é" * 9000, baseline=Ran(Ending.RAISED, "m" * 9000)))
    kept = channel.partial_results()
    assert kept is not None
    assert (kept.verdict, kept.rule, kept.baseline.ending) == ("undefined", "race", "raised")


def test_a_channel_that_was_written_over_says_so_and_nothing_else() -> None:
    rng = random.Random(7)
    garbled = 0
    for _ in range(400):
        channel = Channel()
        channel.lay_request({"cases": [1, 2]})
        channel.begin_case(1)
        channel.enter_stage(Stage.RUN)
        channel.note_mutation("constants", 17, 2, "f" * 64)
        channel.beat(3, "step")
        channel.note_results(Results("defined"))
        channel.add_result({"exit": "ok", "message": "x" * 200})
        channel.add_result({"exit": "ok"})
        start, size = rng.choice([(0, 384), (256, 128), (384, 128), (512, 128), (640, 400), (RESULTS, 300)])
        at, length = start + rng.randrange(size), rng.choice([1, 8, 64, 4096])
        channel.memory[at : at + length] = rng.choice([rng.randbytes(length), b"\xff" * length, bytes(length)])
        channel.seconds()
        assert channel.mutation() in (None, ("constants", 17, 2, "f" * 64))
        assert channel.partial_results() in (None, Results("defined"))
        assert len(channel.pass_name()) < 256
        beat = channel.last_beat()
        assert beat is None or (beat.iteration, beat.doing) == (3, "step")
        try:
            assert (channel.case_index(), channel.stage()) == (1, Stage.RUN)
            records = list(channel.results())
            assert records == [{"exit": "ok", "message": "x" * 200}, {"exit": "ok"}][: len(records)]
        except Garbled:
            garbled += 1
    assert 40 < garbled < 360


def test_a_sign_of_life() -> None:
    channel = Channel()
    assert channel.last_beat() is None
    before = time.monotonic()
    channel.beat(12, "report" * 50)
    beat = channel.last_beat()
    assert beat is not None
    assert before <= beat.time <= time.monotonic()
    assert beat.iteration == 12 and beat.doing.startswith("report")
    channel.lay_request({})
    assert channel.last_beat() == beat
