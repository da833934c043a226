"""A system as a third party adds one, `fuzz --system toy:squeezer`: TVM, one pass of which has another name."""

from __future__ import annotations

from dataclasses import replace

from tzerlike.plugins import Plugin
from tzerlike.systems import TVM

plugin = Plugin(systems={"squeezer": replace(TVM, renamed={"tirx.NarrowDataType": "tirx.Squeeze"})})
