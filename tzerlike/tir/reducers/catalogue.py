"""The table of reducers, in the order in which the search goes through them.

What takes away most for one run comes first: passes before statements, statements before expressions. Sizes come early,
since everything after them then takes less time. Names come before all, for they are long, and a search may end early.
"""

from __future__ import annotations

from collections.abc import Mapping

from tzerlike.core.case import Case
from tzerlike.core.shrink import Reducer
from tzerlike.tir.reducers import axes, buffers, expressions, names, statements
from tzerlike.tir.reducers.joint import JOINT
from tzerlike.tir.reducers.plan import PLAN
from tzerlike.tir.reducers.program import ProgramReducer, on_program

PROGRAM: Mapping[str, ProgramReducer] = {
    "renamed": names.renamed,
    "without-statements": statements.without_statements,
    "without-blocks": statements.without_blocks,
    "bodies": statements.bodies,
    "without-buffers": buffers.without_buffers,
    "given-buffers": buffers.given_buffers,
    "smaller-sizes": expressions.smaller_sizes,
    "without-rounds": statements.without_rounds,
    "constant-bounds": expressions.constant_bounds,
    "without-names": statements.without_names,
    "plainer": statements.plainer,
    "constant-values": expressions.constant_values,
    "smaller-blocks": axes.smaller_blocks,
    "axes-with-rounds": axes.axes_with_rounds,
    "dimensions-with-axes": axes.dimensions_with_axes,
    "axes-of-one-round": axes.axes_of_one_round,
    "simpler-expressions": expressions.simpler_expressions,
    "casts-of-parts": expressions.casts_of_parts,
    "folded": expressions.folded,
    "smaller-buffers": buffers.smaller_buffers,
    "plainer-buffers": buffers.plainer_buffers,
    "without-attributes": statements.without_attributes,
    "smaller-numbers": expressions.smaller_numbers,
    "usual-dtypes": expressions.usual_dtypes,
}
"""What changes the program, by name."""

REDUCERS: Mapping[str, Reducer[Case]] = {
    **PLAN,
    **{name: on_program(reducer) for name, reducer in PROGRAM.items()},
    **JOINT,
}
"""All reducers by name."""
