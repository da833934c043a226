"""Work of another kind than a case, that a runner's child does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tzerlike.child.tray import Tray

Job = Callable[[Mapping[str, Any], Tray, float], None]
"""What is to be done, where the results go, seconds of processor time a step."""
