"""The search for a smaller value, under arbitrary properties: it ends, repeats, never grows, and keeps the property."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tzerlike.core.shrink import WIDEST, Attempt, Outcome, Shrinking, Task, last_that, search, spans

Value = tuple[int, ...]


def fewer(value: Value) -> Iterator[Attempt[Value]]:
    """Leave out runs of numbers."""
    for start, stop in spans(len(value)):
        yield partial(lambda start, stop: value[:start] + value[stop:], start, stop)


def nearer(value: Value) -> Iterator[Attempt[Value]]:
    """Replace each number by smaller ones; some attempts come to nothing."""
    for place, number in enumerate(value):
        for other in (0, number // 2, number - 1):
            yield partial(
                lambda place, other: None if other < 0 else (*value[:place], other, *value[place + 1 :]), place, other
            )


def turned(value: Value) -> Iterator[Attempt[Value]]:
    """Something that may be larger as well as smaller."""
    yield lambda: value[::-1]
    yield lambda: (*value, 0)
    yield lambda: value


def size(value: Value) -> tuple[int, int, Value]:
    return len(value), sum(value), value


def task(keeps: Callable[[Value], bool]) -> Task[Value]:
    return Task((fewer, nearer, turned), size, lambda value: value, keeps)


values = st.lists(st.integers(0, 9), max_size=8).map(tuple)


@st.composite
def problems(draw: st.DrawFn) -> tuple[Value, Callable[[Value], bool]]:
    """A value and a property that it has; of all others, any may have it: a hash decides."""
    start, salt, one_in = draw(values), draw(st.integers(0, 99)), draw(st.integers(1, 4))

    def keeps(value: Value) -> bool:
        digest = blake2b(repr((salt, value)).encode(), digest_size=2).digest()
        return value == start or digest[0] % one_in == 0

    return start, keeps


@given(problems())
def test_the_result_has_the_property_and_is_no_larger(problem: tuple[Value, Callable[[Value], bool]]) -> None:
    start, keeps = problem
    outcome = search(start, task(keeps))
    assert outcome.finished
    assert keeps(outcome.value)
    assert size(outcome.value) <= size(start)
    assert (outcome.value == start) == (outcome.taken == 0)


@given(problems(), st.integers(0, 99))
def test_ruling_out_several_values_at_once_changes_only_how_many_are_looked_at(
    problem: tuple[Value, Callable[[Value], bool]], salt: int
) -> None:
    start, keeps = problem
    looked: list[Value] = []

    def drawn(values: object, below: int) -> int:
        return blake2b(repr((salt, values)).encode(), digest_size=2).digest()[0] % below

    def looks(value: Value) -> bool:
        looked.append(value)
        return keeps(value)

    def may_keep(values: Sequence[Value]) -> list[bool]:
        """The first of some values, as where a child dies of one; of what has not the property it rules out half."""
        assert 1 < len(values) <= WIDEST
        return [keeps(value) or drawn(value, 2) == 0 for value in values[: 1 + drawn(values, len(values))]]

    plain = search(start, task(keeps))
    assert search(start, replace(task(looks), may_keep=may_keep)) == plain
    assert len(looked) == len(set(looked)) <= plain.asked


@given(problems(), st.integers(1, 4))
def test_a_rough_search_gives_up_each_reducer_after_a_few_in_vain(
    problem: tuple[Value, Callable[[Value], bool]], patience: int
) -> None:
    start, keeps = problem
    rough = Shrinking(start, task(keeps))
    for _ in rough.once(patience):
        pass
    assert keeps(rough.best) and size(rough.best) <= size(start)
    assert rough.asked <= (len(task(keeps).reducers) + rough.taken) * patience
    whole = search(rough.best, task(keeps)).value
    assert not [v for r in task(keeps).reducers for a in r(whole) if (v := a()) and size(v) < size(whole) and keeps(v)]


@given(problems())
def test_nothing_on_offer_is_smaller_than_the_result(problem: tuple[Value, Callable[[Value], bool]]) -> None:
    start, keeps = problem
    result = search(start, task(keeps)).value
    offered = [attempt() for reducer in task(keeps).reducers for attempt in reducer(result)]
    assert not [v for v in offered if v is not None and size(v) < size(result) and keeps(v)]


@given(problems())
def test_searching_again_changes_nothing_and_a_second_search_finds_the_same(
    problem: tuple[Value, Callable[[Value], bool]],
) -> None:
    start, keeps = problem
    result = search(start, task(keeps)).value
    assert search(start, task(keeps)).value == result
    again = search(result, task(keeps))
    assert (again.value, again.taken, again.finished) == (result, 0, True)


@given(problems())
def test_each_step_is_smaller_and_no_value_is_asked_about_twice(
    problem: tuple[Value, Callable[[Value], bool]],
) -> None:
    start, keeps = problem
    asked: list[Value] = []
    taken: list[Value] = []

    def watched(value: Value) -> bool:
        asked.append(value)
        return keeps(value)

    outcome = search(start, task(watched), taken=taken.append)
    assert len(asked) == len(set(asked)) == outcome.asked
    steps = [size(start), *map(size, taken)]
    assert all(after < before for before, after in pairwise(steps))
    assert taken == [value for value in asked if keeps(value)]
    assert len(taken) == outcome.taken


@given(problems(), st.integers(0, 30))
def test_a_search_that_is_stopped_has_the_best_so_far_and_can_go_on(
    problem: tuple[Value, Callable[[Value], bool]], patience: int
) -> None:
    start, keeps = problem
    taken = [start]
    looks = 0

    def stop() -> bool:
        nonlocal looks
        looks += 1
        return looks > patience

    stopped = search(start, task(keeps), stop=stop, taken=taken.append)
    assert stopped.value == taken[-1]
    rest = search(stopped.value, task(keeps))
    assert keeps(rest.value)
    assert size(rest.value) <= size(stopped.value)
    if stopped.finished:
        assert rest.taken == 0


def test_what_matters_is_left_and_nothing_else() -> None:
    start = (7, 3, 9, 1, 8, 2)
    outcome: Outcome[Value] = search(start, task(lambda value: any(n >= 5 for n in value) and 2 in value))
    assert outcome.value == (2, 5)


@given(st.integers(0, 40))
def test_spans_cover_everything_at_every_length_and_end_with_each_element_alone(count: int) -> None:
    found = list(spans(count))
    assert all(0 <= start < stop <= count for start, stop in found)
    lengths = [stop - start for start, stop in found]
    assert sorted(found[len(found) - count :]) == [(n, n + 1) for n in range(count)]
    if count:
        assert found[0] == (0, count)
        assert max(lengths) == count


@given(st.integers(1, 100), st.data())
def test_the_last_value_that_holds_is_found_in_few_questions(count: int, data: st.DataObject) -> None:
    last, asked = data.draw(st.integers(0, count - 1)), []

    def holds(value: int) -> bool:
        asked.append(value)
        return value <= last

    assert last_that(holds, range(count)) == last
    assert len(asked) <= count.bit_length() + 1
    assert last < count - 1 or len(asked) <= 1, "the smallest is asked first"
