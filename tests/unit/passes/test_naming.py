"""Names of passes in findings."""

from __future__ import annotations

import pytest

from tzerlike.passes.naming import short_name


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("relax.transform.FuseOps", "FuseOps"),
        ("FuseOps", "FuseOps"),
        ("gradient of nn.conv2d", "gradient of nn.conv2d"),
        ("", ""),
    ],
)
def test_a_pass_loses_its_namespace_and_what_is_none_keeps_its_name(name: str, short: str) -> None:
    assert short_name(name) == short
