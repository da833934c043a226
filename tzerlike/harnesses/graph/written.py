"""A model as one of TVM's importers takes it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tzerlike.graph.meaning.elementwise import Array


class Unimportable(Exception):
    """There are no words for a model, or what it is written with refuses it: there is nothing to import."""


class WrittenModel(ABC):
    """A model in the words of a package; it holds the values of its constants."""

    @abstractmethod
    def check(self) -> None:
        """Raise Unimportable where the package refuses the model, if it takes little to see."""

    @abstractmethod
    def importer(self) -> Callable[[], Any]:
        """Return what has TVM import it, and raises what TVM does; Unimportable where the package refuses it."""

    @abstractmethod
    def operators(self) -> str:
        """Return the package's names of the operators, each once; of helpers where there are no others."""

    @abstractmethod
    def source(self, constants: Mapping[str, str], *, alone: bool) -> str:
        """Return statements that write the model and define `Module`, as TVM imports it.

        `constants` has the source of the values of some. With nothing behind it, the import stands `alone`.
        """

    def computed(self, inputs: Sequence[Array]) -> list[Array] | None:
        """Return what the package computes; None where it only writes models. Unimportable where it fails."""
        return None


def telling_operators(names: Sequence[str], helpers: frozenset[str]) -> str:
    """Return names of operators, each once, without those of helpers where there are others."""
    found = dict.fromkeys(names)
    return "+".join([name for name in found if name not in helpers] or found)
