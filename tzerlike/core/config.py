"""The resolved configuration of a campaign: validated once, every error named, TOML in and out."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from tzerlike.core.case import TIR
from tzerlike.core.errors import UserError
from tzerlike.core.limits import checked_limits
from tzerlike.core.schema import VERSION, Schema
from tzerlike.core.targets import DEFAULT_ARCH, KINDS, checked_arch, target_text
from tzerlike.core.untrusted import read_toml

_SCHEMA_VERSION = 1
"""Of campaign.toml."""

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}

TARGETS = KINDS
COVERAGE = ("auto", "breakpoint", "sancov", "none")
PASS_MODES = ("joint", "random", "none", "paper")
CHOICES = ("adaptive", "uniform")
ENTRY_CHOICES = ("auto", *CHOICES)
FEEDBACK = ("coverage", "none")
UIS = ("rich", "plain", "none")


DEFAULT_ORACLES = ("crash", "inconsistency", "internal-error", "performance", "roundtrip")
"""All but the metamorphic one: together they cost about as much again as compiling, and wrong code gets mended."""


@dataclass(frozen=True, slots=True)
class CampaignConfig:
    """Everything that determines a campaign; two equal configurations on one TVM give equal campaigns.

    `budget` and `timeout` are seconds; `iterations` is per campaign, over all workers, or None; `nodes`
    is how many machines share it, with `jobs` workers each; `memory_limit` is
    bytes beyond what the fuzzer itself maps. `corpus` is the directory of an earlier corpus to bring in, `known` a
    known.toml; "" is none. `system` is the compiler under test, and `tvm` the name of a build of it, "" for what is
    installed.
    """

    seed: int
    budget: float = 4 * 3600.0
    iterations: int | None = None
    tvm: str = ""
    system: str = "tvm"
    target: str = "llvm"
    arch: str = DEFAULT_ARCH
    coverage: str = "auto"
    seeds: str = "builtin"
    corpus: str = ""
    known: str = ""
    n_max: int = 4
    mutators: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    mutator_choice: str = "adaptive"
    entry_choice: str = "auto"
    pass_mode: str = "joint"
    feedback: str = "coverage"
    oracles: tuple[str, ...] = DEFAULT_ORACLES
    jobs: int = 1
    nodes: int = 1
    timeout: float = 5.0
    memory_limit: int = 2 << 30
    pairs_per_fork: int = 16
    harness: str = TIR

    def __post_init__(self) -> None:
        checks: tuple[tuple[str, bool, str], ...] = (
            ("--seed", 0 <= self.seed < 2**63, "a number from 0 to 2^63 - 1"),
            ("--budget", 1 <= self.budget <= 366 * 86400, "from 1s to 366d"),
            ("--iterations", self.iterations is None or 1 <= self.iterations <= 10**9, "from 1 to 1000000000"),
            ("--target", self.target in TARGETS, "one of " + ", ".join(TARGETS)),
            ("--coverage", self.coverage in COVERAGE, "one of " + ", ".join(COVERAGE)),
            ("--n-max", 1 <= self.n_max <= 1000, "from 1 to 1000"),
            ("--pass-mode", self.pass_mode in PASS_MODES, "one of " + ", ".join(PASS_MODES)),
            (
                "--mutator-choice",
                self.mutator_choice in CHOICES,
                "one of " + ", ".join(CHOICES),
            ),
            ("--entry-choice", self.entry_choice in ENTRY_CHOICES, "one of " + ", ".join(ENTRY_CHOICES)),
            ("--feedback", self.feedback in FEEDBACK, "one of " + ", ".join(FEEDBACK)),
            ("--oracles", bool(self.oracles), "at least one oracle"),
            ("--jobs", 1 <= self.jobs <= 256, "from 1 to 256"),
            ("--nodes", 1 <= self.nodes <= 9999, "from 1 to 9999"),
            ("--pairs-per-fork", 1 <= self.pairs_per_fork <= 256, "from 1 to 256"),
        )
        checked_arch(self.arch)
        checked_limits(self.timeout, self.memory_limit)
        for option, good, expected in checks:
            if not good:
                raise UserError(f"{option}: expected {expected}")

    @property
    def case_target(self) -> str:
        """The target that cases are built for, as a Case holds it."""
        return target_text(self.target, self.arch)

    @property
    def mutator_names(self) -> tuple[str, ...]:
        """What `make_mutators` is to make: the mutators listed, or all, and those of the plug-ins."""
        return (self.mutators or ("all",)) + tuple(f"{plugin}:all" for plugin in self.plugins)

    def to_toml(self) -> str:
        lines = [f"{VERSION} = {_SCHEMA_VERSION}"]
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:
                lines.append(f"{field.name} = {json.dumps(list(value) if isinstance(value, tuple) else value)}")
        return "\n".join(lines) + "\n"

    @classmethod
    def from_toml(cls, path: Path) -> CampaignConfig:
        """Read a saved configuration; UserError that names the file and what is wrong with it."""
        if not os.path.lexists(path):
            raise UserError(f"{path}: not found; the directory holds no campaign")
        data = read_toml(path)
        if unknown := sorted(set(data) - {VERSION, *(field.name for field in dataclasses.fields(cls))}):
            raise UserError(f"{path}: unknown key {unknown[0][:40]!r}")
        try:
            return Schema(cls, "campaign", _SCHEMA_VERSION, unstated=1).of(data)
        except UserError as error:
            raise type(error)(f"{path}: {error}") from error


def parse_duration(text: str) -> float:
    """Return the seconds of `4h`, `90s`, `1h30m`, `2d`, and of `90`; UserError otherwise."""
    if re.fullmatch(r"\d+(\.\d+)?", text.strip()):
        return float(text)
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd])", text)
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        raise UserError(f"--budget: {text!r} is not a duration like 90s, 30m, 4h or 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def parse_size(text: str) -> int:
    """Return the bytes of `2G`, `512M`, `1073741824`; UserError otherwise."""
    match = re.fullmatch(r"(\d+)\s*([kmg]?)(?:i?b)?", text.strip().lower())
    if match is None:
        raise UserError(f"--memory-limit: {text!r} is not a size like 512M or 2G")
    return int(match[1]) * _SIZES[match[2]]
