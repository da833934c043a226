"""Coverage backends by name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tzerlike.core.errors import UserError
from tzerlike.core.forks import die_with_parent, fork, wait_for
from tzerlike.coverage.blocks import blocks_of, identity_of, load_bias
from tzerlike.coverage.breakpoint import BreakpointCoverage, LoadedCode
from tzerlike.coverage.native import load_memcov
from tzerlike.coverage.protocol import Coverage, NoCoverage
from tzerlike.coverage.sancov import SancovCoverage, instrumented


def open_coverage(
    kind: str, libraries: Sequence[Path], slots: int, cache_dir: Path, prefix: str | None = None
) -> Coverage:
    """Return coverage of the already loaded `libraries`, with `slots` logs.

    `kind` is `breakpoint`, `sancov`, which takes in every instrumented library of this process, `none`, or `auto`:
    sancov where something is instrumented, else breakpoint. For breakpoints, looking for the blocks takes seconds the
    first time; they are kept in `cache_dir`. `prefix` marks the source paths of the libraries' own code (None: all of
    their code counts). UserError when it cannot be done here.
    """
    match _resolved(kind):
        case "none":
            return NoCoverage()
        case "sancov":
            return SancovCoverage(slots)
        case "breakpoint":
            return BreakpointCoverage([_loaded(library, cache_dir, prefix) for library in libraries], slots)
        case _:
            raise UserError(f"no such coverage backend: {kind} (there are auto, breakpoint, sancov and none)")


def _resolved(kind: str) -> str:
    """Return the name of a backend for `auto`, and any other name as it is."""
    return ("sancov" if instrumented() else "breakpoint") if kind == "auto" else kind


def _loaded(library: Path, cache_dir: Path, prefix: str | None) -> LoadedCode:
    load_memcov()
    library = Path(os.path.realpath(library))
    base = load_bias(library)
    try:
        identity = identity_of(library)
    except OSError as error:
        raise UserError(f"cannot read {library}: {error.strerror}") from error
    blocks, successors = blocks_of(library, identity, base, cache_dir, prefix)
    if not len(blocks):
        raise UserError(f"{library} has no code whose coverage can be measured; use --coverage none")
    return LoadedCode(base, blocks, successors, library)


def prepare_coverage(kind: str, libraries: Sequence[Path], cache_dir: Path, prefix: str | None = None) -> None:
    """See to it, in a forked child, that `open_coverage` finds the blocks of loaded libraries in `cache_dir`.

    Looking for blocks leaves its traces in a process's heap, and hash-ordered code of a library behaves by addresses:
    a process that had to look would not repeat what one that did not have to has done.
    """
    if _resolved(kind) != "breakpoint":
        return
    parent = os.getpid()
    child = fork()
    if child == 0:
        try:
            die_with_parent(parent)
            open_coverage(kind, libraries, 1, cache_dir, prefix)
        finally:
            # What went wrong here goes wrong again, and is reported, where coverage is opened.
            os._exit(0)
    wait_for(child)
