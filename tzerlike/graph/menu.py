"""The rows that a model is drawn from."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tzerlike.graph.backward import draws_backward
from tzerlike.graph.dice import Dice
from tzerlike.graph.model import TensorType
from tzerlike.graph.solve import plan_of
from tzerlike.graph.spec.language import Specification


class Menu:
    """The operators to choose from, each with its rows, and the kinds of tensors that a row takes first."""

    def __init__(self, rows: Sequence[Specification], favour: Callable[[str], float] | None = None) -> None:
        self.rows = rows
        self.favour = favour
        operators: dict[str, list[Specification]] = {}
        for row in rows:
            operators.setdefault(row.operator, []).append(row)
        self._operators = list(operators.values())
        self._backward = [
            found for forms in self._operators if (found := [row for row in forms if draws_backward(row)])
        ]
        self._takes: dict[tuple[str, str, int], bool] = {}

    def choose(self, dice: Dice) -> list[Specification]:
        """Draw an operator, and return its forms; of two, the one that `favour` is greater for."""
        one = self._operators[dice.below(len(self._operators))]
        favour = self.favour
        if favour is None:
            return one
        other = self._operators[dice.below(len(self._operators))]
        return max(one, other, key=lambda forms: favour(forms[0].operator))

    def choose_backward(self, dice: Dice) -> Specification | None:
        """Draw among the rows whose calls can be drawn from their output."""
        if not self._backward:
            return None
        forms = self._backward[dice.below(len(self._backward))]
        return forms[dice.below(len(forms))]

    def takes(self, row: Specification, kind: TensorType) -> bool:
        """Whether a row can take a tensor of this dtype and rank first."""
        key = row.name, kind.dtype, len(kind.shape)
        if key not in self._takes:
            first = plan_of(row).first
            self._takes[key] = bool(first) and kind.dtype in first[0].dtypes and first[0].takes_rank(len(kind.shape))
        return self._takes[key]
