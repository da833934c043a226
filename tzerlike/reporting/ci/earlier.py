"""Moves last night's campaign out of the way of tonight's."""

from __future__ import annotations

import fcntl
import os

from tzerlike.campaign.directory import CampaignDir
from tzerlike.core.errors import UserError
from tzerlike.core.storage import remove


def make_room(campaign: CampaignDir) -> None:
    """Move an earlier campaign to `.before` and its name, in place of the one before it.

    UserError where it is still running, or is no campaign.
    """
    root = campaign.root
    if not os.path.lexists(root):
        return
    if not campaign.config.is_file():
        raise UserError(f"--output: {root} already exists; remove it, or name another directory")
    with open(root / ".lock", "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(f"--output: {root} is in use by another tzerlike") from error
        before = root.with_name(f"{root.name}.before")
        remove(before)
        root.rename(before)
