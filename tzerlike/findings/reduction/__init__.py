"""Smaller bundles: the same finding with less program, fewer passes, fewer options and simpler inputs.

`search` is the loop and knows nothing of TVM; `order` says what smaller means; `judge` says what must stay. A reducer
is a function from a case to smaller cases, the most promising first: those of `plan` change how a program is
compiled, the other modules change the program. `catalogue` is the table of them all, in the order of the search.
"""

REDUCED = "reduced"
"""The directory in a bundle that holds the reduced one."""

ROUGHLY = "reduced_roughly"
"""What the environment of a reduced bundle says that may be much smaller yet."""
