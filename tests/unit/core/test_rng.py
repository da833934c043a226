from tzerlike.core.rng import rng_for


def test_equal_paths_give_equal_streams() -> None:
    assert rng_for(7, 0, 12, "mutate").random() == rng_for(7, 0, 12, "mutate").random()


def test_any_difference_in_the_path_gives_another_stream() -> None:
    paths = [(7,), (8,), (7, 0), (7, 0, 1), (7, 1, 0), (7, "0"), (7, "a"), (7, "a", "b"), (7, "ab")]
    draws = {rng_for(root, *path).random() for root, *path in paths}
    assert len(draws) == len(paths)


def test_the_stream_is_the_same_on_every_platform() -> None:
    # A change here breaks the replay of every campaign that was saved with its seed.
    assert rng_for(7, 1, "mutate", 0).getrandbits(64) == GOLDEN


GOLDEN = 18072999893511426374
