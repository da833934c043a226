"""What is sure enough to stop somebody with."""

from __future__ import annotations

import pytest

from tzerlike.core.finding import FIRST_TIER, SECOND_TIER
from tzerlike.findings.bundles.bundle import Confirmation
from tzerlike.tir.witness.verdict import Deposition, WitnessWord


@pytest.mark.parametrize(
    ("same", "word", "tier"),
    [
        (3, None, FIRST_TIER),
        (2, None, SECOND_TIER),
        (3, WitnessWord.CONFIRMS, FIRST_TIER),
        (2, WitnessWord.CONFIRMS, SECOND_TIER),
        (3, WitnessWord.CANNOT_SAY, SECOND_TIER),
    ],
)
def test_what_does_not_show_each_time_is_of_the_second_tier(same: int, word: WitnessWord | None, tier: int) -> None:
    witness = None if word is None else Deposition(word, "")
    assert Confirmation(3, same).with_tier(FIRST_TIER, witness).tier == tier
