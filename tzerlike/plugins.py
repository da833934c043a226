"""Plug-ins of third parties: packages that name a `Plugin` in the entry-point group `tzerlike.plugins`.

    [project.entry-points."tzerlike.plugins"]
    mine = "my_package:plugin"

A plug-in is imported only if a configuration lists it (`--plugin mine`). Its additions are known as `mine:name`
everywhere, so statistics and bundles show their origin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from tzerlike.core.errors import UserError
from tzerlike.core.harness import HARNESSES, HarnessRow

GROUP = "tzerlike.plugins"


@dataclass(frozen=True, slots=True)
class Plugin:
    """The tables of a plug-in, keyed by name like tzerlike's own.

    `mutators` has factories of objects that keep the contract of `tzerlike.mutators.Mutator`, which `tzerlike.testing`
    checks. `oracles` has values of type `tzerlike.oracles.protocol.Oracle`, `systems` of `tzerlike.systems.System`,
    and `harnesses` of `tzerlike.core.harness.HarnessRow`.
    """

    mutators: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    oracles: Mapping[str, Any] = field(default_factory=dict)
    systems: Mapping[str, Any] = field(default_factory=dict)
    harnesses: Mapping[str, HarnessRow] = field(default_factory=dict)


def load_plugin(name: str, option: str = "--plugin") -> Plugin:
    """Import the plug-in that is installed as `name` and requested by `option`.

    UserError if there is none, if two packages have one of that name, or if it does not load.
    """
    found = sorted(entry_points(group=GROUP, name=name), key=_origin)
    if not found:
        known = sorted({entry.name for entry in entry_points(group=GROUP)})
        raise UserError(f"{option}: no plug-in {name!r} is installed; there are {', '.join(known) or 'none'}")
    if found[0].value != found[-1].value:
        raise UserError(f"{option}: both {_origin(found[0])} and {_origin(found[-1])} have a plug-in {name!r}")
    try:
        plugin = found[0].load()
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise UserError(f"{option}: {name!r} of {_origin(found[0])} does not load: {why}") from error
    if not isinstance(plugin, Plugin):
        raise UserError(f"{option}: {name!r} of {_origin(found[0])} is a {type(plugin).__name__}, not a Plugin")
    return plugin


def harness_named(name: str) -> HarnessRow:
    """Return the row of a harness, `plugin:name` for a plug-in's; UserError lists the existing ones."""
    plugin, _, own = name.rpartition(":")
    table: Mapping[str, HarnessRow] = load_plugin(plugin, "--harness").harnesses if plugin else HARNESSES
    if own not in table:
        raise UserError(f"--harness: no harness {name!r}; there are {', '.join(table) or 'none'}")
    return replace(table[own], name=name)


def extended(kind: str, own: Mapping[str, Any], plugins: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return tzerlike's `own` table with the additions of each plug-in, the latter as `plugin:name`.

    If a name is taken, UserError names both owners.
    """
    owners = dict.fromkeys(own, "tzerlike")
    table = dict(own)
    for plugin, added in plugins.items():
        for name, factory in added.items():
            if name in owners:
                raise UserError(f"--plugin: both {owners[name]} and the plug-in {plugin!r} have a {kind} {name!r}")
            owners[name] = f"the plug-in {plugin!r}"
            table[f"{plugin}:{name}"] = factory
    return table


def _origin(entry: EntryPoint) -> str:
    return f"{entry.dist.name if entry.dist is not None else 'an unnamed package'} ({entry.value})"
