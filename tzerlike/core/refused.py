"""A message of the compiler, split into parts that stay the same when its wording changes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tzerlike.core.observation import message_template

_WIDTH = 1000
_ERROR = re.compile(r"(\w+(?:Error|Exception)): ")
_CHECK = "Check failed: "
_NAMES = re.compile(r"`[^`]*`|(?<![\w.])[a-z]\w*(?:\.\w+)+(?![\w(.])")
_FAILED = " is false:"
_OPERANDS = re.compile(r" \([^()]* vs\. [^()]*\)\s*$")
_DEFINITION = re.compile(r"defin|declar|cannot find variable", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The first line of a message, without what varies with the program.

    `error` is the type of the exception, `condition` the check that failed, "" where the message shows none, and
    `words` what is said besides.
    """

    error: str
    condition: str
    words: str

    def like(self, other: Refusal) -> bool:
        """Whether both say the same: a later version may word the condition anew, or not show it."""
        return any(mine and mine == theirs for mine, theirs in zip(self._said, other._said, strict=True))

    @property
    def _said(self) -> tuple[str, str]:
        return self.condition.strip("()"), self.words


def refusal_in(message: str) -> Refusal:
    """Take a message apart: `InternalError: Check failed: (a < b) is false: too large`."""
    first, second = (*(line.strip() for line in message.splitlines() if line.strip()), "", "")[:2]
    found = _ERROR.match(first)
    error, rest = (found[1], first[found.end() :]) if found else ("", first)
    said = message_template(rest, _WIDTH)
    if not said.startswith(_CHECK):
        # LLVM's verifier says what is wrong in the lines below.
        return Refusal(error, "", f"{said} {message_template(second)}" if said.endswith(":") else said)
    condition, separator, words = said.removeprefix(_CHECK).partition(_FAILED)
    if not separator:
        condition, _, words = condition.partition(" : ")
    return Refusal(error, _OPERANDS.sub("", condition.removesuffix(" :")).strip(), words.strip())


def nameless(words: str) -> str:
    """Leave out the names in what a message says, quoted ones and dotted ones like llvm.ctpop; a condition stays."""
    condition, failed, said = words.rpartition(_FAILED)
    return f"{condition}{failed}{_NAMES.sub('<name>', said)}" if failed or _CHECK not in words else words


def failed_check(message: str) -> str:
    """Return which check failed, or what is said instead, without names: `InternalError: (it != end)`."""
    said = refusal_in(message)
    return f"{said.error and f'{said.error}: '}{said.condition or nameless(said.words)}"


def about_a_definition(message: str) -> bool:
    """Whether a step failed for want of the definition of a variable or of a buffer, as it may on ill-formed IR."""
    return _DEFINITION.search(message) is not None
