"""Help with the options in groups, for commands that have many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

Groups = Mapping[str, Sequence[str]]
"""Titles, and under each the parameters' names in order."""


class Grouped(click.Command):
    """A command whose help has its options in `groups`; those that are in none stand at the end."""

    def __init__(self, *args: Any, groups: Groups, **options: Any) -> None:
        super().__init__(*args, **options)
        self._groups = groups

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each group."""
        records = {param.name: param.get_help_record(ctx) for param in self.get_params(ctx)}
        grouped = {name for names in self._groups.values() for name in names}
        rest = [name for name in records if name not in grouped]
        for title, names in {**self._groups, "Other": rest}.items():
            with formatter.section(title):
                formatter.write_dl([record for name in names if (record := records[name]) is not None])
