"""Making a build from beginning to end; finished steps are skipped, so that it can be continued."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tzerlike.core.errors import UserError
from tzerlike.core.package import MEMCOV, NOT_BUILT
from tzerlike.core.storage import write_atomic, write_json
from tzerlike.systems.builds.environment import finished
from tzerlike.systems.builds.ninja import Progress, run_ninja
from tzerlike.systems.builds.recipe import CMAKE_TARGETS, BuildRecipe
from tzerlike.systems.builds.store import BuildDir, Store

_SPACE = 6 << 30
"""Bytes that a build takes."""

_MEMORY_A_JOB = 3 << 29
"""Bytes that the compiler takes for a batch of sources."""


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes builds in a store. `tell` gets a line for each step, `show` how far the compilation is.

    `finish` makes of what was compiled an environment, and returns what that holds.
    """

    store: Store
    environment: Mapping[str, str]
    tell: Callable[[str], None]
    show: Callable[[Progress], None]
    hooks: Path = MEMCOV.parent
    finish: Callable[[BuildDir, BuildRecipe, Mapping[str, str]], dict[str, Any]] = finished

    def make(self, recipe: BuildRecipe, name: str, jobs: int | None) -> dict[str, Any]:
        """Make the build of `recipe` and return its description.

        Where it was begun before, it goes on; where it is ready, only what changed in the source is compiled.
        UserError, in one line, when the name is another build's or a step fails.
        """
        build = self.store.at(recipe.key)
        self._claim(build, name)
        with build.locked():
            label = {
                "name": name,
                "source": recipe.source.identity,
                "directory": str(recipe.source.directory),
                "compiler": recipe.tools.version,
                "sanitizer": "address" if recipe.sanitized else "none",
                "variables": recipe.variables,
            }
            write_json(build.label, label)
            self._check_space(build)
            began = time.monotonic()
            self._configure(recipe, build)
            self.tell(f"compiling; output goes to {build.log}")
            run_ninja(build.build, CMAKE_TARGETS, jobs or _sensible_jobs(), build.log, self.show, self.environment)
            self.tell("creating the Python environment")
            found = self.finish(build, recipe, self.environment)
            write_json(build.ready, {**found, "seconds": round(time.monotonic() - began)})
            return build.described

    def _claim(self, build: BuildDir, name: str) -> None:
        for other in self.store.builds():
            if other.described["name"] == name and other.root != build.root:
                raise UserError(
                    f"--name: {name!r} is a build of {other.described['source']}; give another name, or remove that "
                    f"one first: tzerlike tvm remove {name}"
                )

    def _check_space(self, build: BuildDir) -> None:
        free = shutil.disk_usage(build.root).free
        if not build.libraries.exists() and free < _SPACE:
            raise UserError(
                f"{build.root}: {free >> 20} MiB free, a build needs some {_SPACE >> 20}; make room, or set "
                "XDG_CACHE_HOME to a directory on another disk"
            )

    def _configure(self, recipe: BuildRecipe, build: BuildDir) -> None:
        batches = build.root / "batches.cmake"
        if recipe.in_batches:
            _write_if_new(batches, recipe.batches())
        hooks, script = (self._linked(build, name) for name in ("sancov_hooks.o", "sancov.ld"))
        command = recipe.configure(build.build, hooks, script, batches)
        stamp = build.root / "configured.json"
        if stamp.is_file() and json.loads(stamp.read_text()) == command and (build.build / "build.ninja").is_file():
            return
        self.tell("configuring")
        with build.log.open("a", encoding="utf-8") as log:
            status = subprocess.run(command, stdout=log, stderr=log, env=dict(self.environment), check=False).returncode
        if status != 0:
            error = next((line for line in build.log.read_text().splitlines()[::-1] if "CMake Error" in line), "")
            raise UserError(f"CMake failed: {error.strip() or f'status {status}'} ({build.log})")
        write_json(stamp, command)

    def _linked(self, build: BuildDir, name: str) -> Path:
        """Return a copy of what is linked into each library, so that a newer one of tzerlike's has all linked anew."""
        origin = self.hooks / name
        if not origin.is_file():
            raise UserError(f"{name} {NOT_BUILT}")
        content = origin.read_bytes()
        copy = build.root / f"{origin.stem}-{_digest(content)}{origin.suffix}"
        if not copy.is_file():
            write_atomic(copy, content)
        return copy


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:8]


def _write_if_new(path: Path, text: str) -> None:
    """Write a file unless it says just that already: CMake looks at its time."""
    if not path.is_file() or path.read_text() != text:
        write_atomic(path, text)


def _sensible_jobs() -> int:
    """As many compilers as there are cores for us, and memory for."""
    return max(1, min(len(os.sched_getaffinity(0)), psutil.virtual_memory().available // _MEMORY_A_JOB))
