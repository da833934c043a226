"""What the arithmetic harness leaves alone on a TVM whose analyzer is asked in another way."""

from types import SimpleNamespace

from tzerlike.arith.checks import asked_otherwise, sym


class OfAFork:
    """The analyzer of TileLang 0.1.15, as far as it differs."""

    def int_set(self, expr: object, dom_map: object) -> None: ...


def test_nothing_is_left_out_on_the_latest_tvm() -> None:
    assert asked_otherwise(sym()) == frozenset()


def test_a_fork_is_not_asked_what_it_has_not() -> None:
    fork = SimpleNamespace(Analyzer=OfAFork, normalize_to_iter_sum=lambda index, input_iters: None)
    assert asked_otherwise(fork) == {"try_compare", "int_set", "normalize_to_iter_sum"}
