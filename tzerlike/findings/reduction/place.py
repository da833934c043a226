"""Replacing a directory by another, so that one of the two exists whenever the process is killed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tzerlike.core.storage import remove
from tzerlike.core.untrusted import is_directory
from tzerlike.findings.reduction import REDUCED


def put_in_place(new: Path, target: Path, rename: Callable[[Path, Path], None] = os.rename) -> None:
    """Rename the directory `new` to `target`, in place of what is there.

    Between the two renames that this takes, the old one lies next to it as `.old-` and its name; see `recovered`.
    """
    old = target.with_name(f".old-{target.name}")
    remove(old)
    if os.path.lexists(target):
        rename(target, old)
    rename(new, target)
    remove(old)


def recovered(target: Path) -> Path | None:
    """Return `target` if it is there, put back first where a kill came between two renames; else None."""
    old = target.with_name(f".old-{target.name}")
    if not os.path.lexists(target) and is_directory(old):
        os.rename(old, target)
    return target if is_directory(target) else None


def reduced_in(bundle: Path) -> Path | None:
    """Return the reduced bundle in a bundle; None where there is none, or a link that leads out of the bundle."""
    reduced = bundle / REDUCED
    return reduced if is_directory(reduced) and is_bundle(reduced) else None


def is_bundle(path: Path) -> bool:
    """Whether a directory has the two files that make it a bundle."""
    return (path / "case.json").is_file() and (path / "observation.json").is_file()
