"""A compiler under test, as far as it can be described without loading it. Imports no TVM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tzerlike.core.observation import Frame


@dataclass(frozen=True, slots=True)
class Code:
    """How the compiler's own code is distinguished from that of others.

    `library` is the file that holds the compiler, and `libraries` how the names of all of its libraries begin. Those of
    `extensions` that lie beside it are loaded too and are as much the compiler's: forks have passes of their own there.
    Source paths in them begin with `sources`. `visitors` are what the names of functions begin with that every pass
    goes through: in a signature they would hide one failure behind another. `visit` finds the kind of node in the name
    of what a visitor calls for each. `shared` matches the names of functions that passes share and that are at fault
    themselves when they fail: the analyzer and the folding of constants.
    `constants` matches those that make a constant, `simplifiers` those by which simplification is entered, `analysis`
    those of the analyzer, `intervals` those of its sets, and `arithmetic` is found in those that visit a node of
    arithmetic.
    """

    library: str
    libraries: tuple[str, ...]
    sources: str
    visitors: tuple[str, ...]
    extensions: tuple[str, ...] = ()
    visit: str = r"(?!)()"
    shared: str = r"(?!)"
    constants: str = r"(?!)"
    simplifiers: str = r"(?!)"
    analysis: str = r"(?!)"
    intervals: str = r"(?!)"
    arithmetic: str = r"(?!)"

    def owns(self, frame: Frame) -> bool:
        """Whether a frame is the compiler's; others (libc, Python, ours) say how a process died, not why."""
        return frame.library.startswith(self.libraries)

    def telling(self, frames: Iterable[Frame]) -> list[Frame]:
        """Return the frames that say where something went wrong; all of them when each is a visitor's."""
        frames = list(frames)
        return [frame for frame in frames if not frame.function.startswith(self.visitors)] or frames


@dataclass(frozen=True, slots=True)
class Fork:
    """A wheel that carries a TVM of its own inside another package.

    `python` is the directory that holds `tvm`, and `libraries` the one with its libraries, as from where packages are
    installed. `releases` are the versions that have been tried, the latest first, with the tvm-ffi that each needs, and
    `needs` what has to be installed besides, in pip's words.
    """

    python: str
    libraries: str
    releases: Mapping[str, str]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class System:
    """A compiler under test.

    `namespaces` are those whose registered functions make passes of tensor programs, those of forks too. `renamed` has
    passes that TVM has under another name: that one, with theirs. `releases` are the versions that have been tried, the
    latest first, with the tvm-ffi that each needs, and `forks` are packages that carry a fork of it; nodes are
    described in full from `described_from` on. `imports` is what a script needs before it can name anything of the
    compiler. `tracker` is the address of its issues on GitHub, "" where they are elsewhere.
    """

    name: str
    code: Code
    releases: Mapping[str, str]
    described_from: str
    namespaces: tuple[str, ...] = ("tirx", "s_tir")
    renamed: Mapping[str, str] = field(default_factory=dict)
    forks: Mapping[str, Fork] = field(default_factory=dict)
    imports: str = "import tvm\nfrom tvm import s_tir, tirx"
    tracker: str = ""

    def pass_name(self, ffi_name: str) -> str:
        """Return the name that sequences use: `s_tir.transform.ThreadSync` becomes `s_tir.ThreadSync`."""
        short = ".".join(part for part in ffi_name.split(".") if part not in ("transform", "transforms"))
        return self.renamed.get(short, short)

    def name_in_tvm(self, name: str) -> str:
        """Return what TVM calls a pass; what is known of passes goes by that."""
        return next((own for own, other in self.renamed.items() if other == name), name)
