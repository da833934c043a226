import os
import random
import time

import pytest

from tzerlike.child.tray import Garbled, Tray
from tzerlike.observation import Stage
from tzerlike.outcome import Ending, Ran, Results

RESULTS = (16 << 20) + 4096
"""Where the records of a tray begin."""


def test_what_a_killed_child_noted_is_there() -> None:
    tray = Tray()
    tray.lay_request({"cases": [1, 2]})
    child = os.fork()
    if child == 0:
        assert tray.request() == {"cases": [1, 2]}
        tray.begin_case(0)
        tray.add_result({"exit": "ok"})
        tray.begin_case(1)
        tray.enter_stage(Stage.PASSES)
        tray.note_pass("tirx.UnrollLoop")
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    assert list(tray.results()) == [{"exit": "ok"}]
    assert tray.case_index() == 1
    assert tray.stage() is Stage.PASSES
    assert tray.pass_name() == "tirx.UnrollLoop"


def test_time_is_booked_on_the_stage_it_was_spent_in() -> None:
    tray = Tray()
    tray.begin_case(0)
    tray.enter_stage(Stage.BUILD)
    time.sleep(0.02)
    tray.enter_stage(Stage.DONE)
    seconds = tray.seconds()
    assert seconds["build"] >= 0.02
    assert seconds["load"] < seconds["build"]


def test_a_new_request_forgets_the_last_one() -> None:
    tray = Tray()
    tray.lay_request({"cases": []})
    tray.add_result({"exit": "ok"})
    tray.begin_case(5)
    tray.enter_stage(Stage.RUN)
    tray.note_mutation("swap", 3, 0, "ab")
    tray.lay_request({"cases": []})
    assert list(tray.results()) == []
    assert tray.case_index() == 0
    assert tray.seconds() == {}


def test_the_mutation_under_way() -> None:
    tray = Tray()
    assert tray.mutation() is None
    tray.note_mutation("constants", 17, 2, "f" * 64)
    assert tray.mutation() == ("constants", 17, 2, "f" * 64)
    tray.clear_mutation()
    assert tray.mutation() is None


def test_what_does_not_fit_is_refused() -> None:
    tray = Tray()
    with pytest.raises(ValueError, match="request of"):
        tray.lay_request({"cases": ["x" * (17 << 20)]})


def test_long_pass_names_are_cut() -> None:
    tray = Tray()
    tray.note_pass("p" * 1000)
    assert tray.pass_name() == "p" * 191


def test_what_is_known_of_results_outlives_the_child_and_not_its_case() -> None:
    tray = Tray()
    tray.begin_case(0)
    assert tray.partial_results() is None
    results = Results("defined", steps=7, scheme="small", reference=Ran(Ending.AGREES))
    if (child := os.fork()) == 0:
        tray.note_results(results)
        os._exit(0)
    os.waitpid(child, 0)
    assert tray.partial_results() == results
    tray.begin_case(1)
    assert tray.partial_results() is None


def test_results_that_are_too_long_keep_their_verdict() -> None:
    tray = Tray()
    tray.note_results(Results("undefined", "race", "é" * 9000, reference=Ran(Ending.RAISED, "m" * 9000)))
    kept = tray.partial_results()
    assert kept is not None
    assert (kept.verdict, kept.rule, kept.reference.ending) == ("undefined", "race", "raised")


def test_a_tray_that_was_written_over_says_so_and_nothing_else() -> None:
    rng = random.Random(7)
    garbled = 0
    for _ in range(400):
        tray = Tray()
        tray.lay_request({"cases": [1, 2]})
        tray.begin_case(1)
        tray.enter_stage(Stage.RUN)
        tray.note_mutation("constants", 17, 2, "f" * 64)
        tray.beat(3, "step")
        tray.note_results(Results("defined"))
        tray.add_result({"exit": "ok", "message": "x" * 200})
        tray.add_result({"exit": "ok"})
        start, size = rng.choice([(0, 384), (256, 128), (384, 128), (512, 128), (640, 400), (RESULTS, 300)])
        at, length = start + rng.randrange(size), rng.choice([1, 8, 64, 4096])
        tray.memory[at : at + length] = rng.choice([rng.randbytes(length), b"\xff" * length, bytes(length)])
        tray.seconds()
        assert tray.mutation() in (None, ("constants", 17, 2, "f" * 64))
        assert tray.partial_results() in (None, Results("defined"))
        assert len(tray.pass_name()) < 256
        beat = tray.last_beat()
        assert beat is None or (beat.iteration, beat.doing) == (3, "step")
        try:
            assert (tray.case_index(), tray.stage()) == (1, Stage.RUN)
            records = list(tray.results())
            assert records == [{"exit": "ok", "message": "x" * 200}, {"exit": "ok"}][: len(records)]
        except Garbled:
            garbled += 1
    assert 40 < garbled < 360


def test_a_sign_of_life() -> None:
    tray = Tray()
    assert tray.last_beat() is None
    before = time.monotonic()
    tray.beat(12, "report" * 50)
    beat = tray.last_beat()
    assert beat is not None
    assert before <= beat.time <= time.monotonic()
    assert beat.iteration == 12 and beat.doing.startswith("report")
    tray.lay_request({})
    assert tray.last_beat() == beat
