"""What tzerlike itself does wrong or is asked to do wrong.

What the compiler under test does is never an exception here; it is an
:class:`tzerlike.executor.execute.Observation`.
"""


class TzerlikeError(Exception):
    """A fault of ours: stop loudly."""


class UserError(TzerlikeError):
    """A request that cannot be met: one line that says what is wrong and what to do; exit status 2."""


INTERRUPTED = 130
"""Exit status after Ctrl-C."""
