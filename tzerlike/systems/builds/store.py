"""The directory of builds: one for each source, compiler and set of flags, found by its given name.

A TVM that somebody else built is one too, without a directory of CMake's.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import shutil
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tzerlike.core.errors import UserError


@dataclass(frozen=True, slots=True)
class BuildDir:
    """All paths of one build; making one touches nothing.

    `build` is CMake's directory, `env` a Python environment with the TVM and the tvm-ffi that belong together, `label`
    says what is built, and `ready`, which is there once all is done, what came of it.
    """

    root: Path

    @property
    def build(self) -> Path:
        return self.root / "build"

    @property
    def libraries(self) -> Path:
        return self.build / "lib"

    @property
    def env(self) -> Path:
        return self.root / "env"

    @property
    def python(self) -> Path:
        return self.env / "bin" / "python"

    @property
    def packages(self) -> Path:
        """Where the environment has its packages."""
        return Path(sysconfig.get_path("purelib", vars={"base": str(self.env), "platbase": str(self.env)}))

    def share_packages(self) -> None:
        """Have the environment find what tzerlike and TVM need besides where this tzerlike has it; searched last."""
        needs, here = self.packages / "tzerlike-needs.pth", sysconfig.get_path("purelib") + "\n"
        if not needs.is_file() or needs.read_text() != here:
            needs.write_text(here)

    @property
    def log(self) -> Path:
        return self.root / "build.log"

    @property
    def cache(self) -> Path:
        """For what is made from this TVM: seeds, tables of symbols."""
        return self.root / "cache"

    @property
    def label(self) -> Path:
        return self.root / "build.json"

    @property
    def ready(self) -> Path:
        return self.root / "ready.json"

    @property
    def described(self) -> dict[str, Any]:
        """What `label` and `ready` say, with the state: `ready` or `unfinished`."""
        label: dict[str, Any] = json.loads(self.label.read_text())
        if not self.ready.is_file():
            return {**label, "state": "unfinished"}
        return {**label, "state": "ready", **json.loads(self.ready.read_text())}

    @property
    def variables(self) -> dict[str, str]:
        """What the environment of a process has to hold for it to load this TVM."""
        found: dict[str, str] = json.loads(self.label.read_text()).get("variables", {})
        return found

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from making or removing this build; UserError when somebody else is at it."""
        self.root.mkdir(parents=True, exist_ok=True)
        with open(self.root / ".lock", "w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UserError(f"{self.root}: another tzerlike is building this; wait for it") from error
            yield


@dataclass(frozen=True, slots=True)
class Store:
    """The builds under a directory."""

    root: Path

    @property
    def sources(self) -> Path:
        return self.root / "sources"

    def at(self, key: str) -> BuildDir:
        return BuildDir(self.root / "builds" / key)

    def builds(self) -> list[BuildDir]:
        """All builds, finished or not, in order of their names."""
        found = [BuildDir(path.parent) for path in (self.root / "builds").glob("*/build.json")]
        return sorted(found, key=lambda build: str(build.described["name"]))

    def named(self, name: str) -> BuildDir:
        """Return the build of this name; UserError that lists those that there are."""
        for build in self.builds():
            if build.described["name"] == name:
                return build
        names = ", ".join(str(build.described["name"]) for build in self.builds()) or "none yet"
        raise UserError(
            f"--tvm: no build {name!r}; there are: {names}; create one with `tzerlike tvm add` or `tzerlike tvm build`"
        )

    def ready(self, name: str) -> BuildDir:
        """Return the build of this name, which is done; UserError otherwise."""
        build = self.named(name)
        if build.described["state"] != "ready":
            raise UserError(
                f"--tvm: the build {name!r} is unfinished; continue it with: tzerlike tvm build --name {name}"
            )
        build.cache.mkdir(exist_ok=True)
        if build.packages.is_dir():
            # The tzerlike that made it may be another one, or gone.
            build.share_packages()
        return build

    def remove(self, name: str) -> int:
        """Remove a build and what no other build needs; return the bytes that this freed."""
        build = self.named(name)
        with build.locked():
            freed = disk_size(build.root)
            shutil.rmtree(build.root)
        used = {str(other.described["directory"]) for other in self.builds()}
        for source in self.sources.glob("*"):
            if not any(directory.startswith(f"{source}/") for directory in used):
                freed += disk_size(source)
                shutil.rmtree(source)
        return freed


def with_debug_information(library: Path) -> Path:
    """Where the debug information of a library of a build is: in a copy of it that nobody loads."""
    return library.with_name(f"{library.name}.debug")


def disk_size(root: Path) -> int:
    """Return the bytes that the files under `root` take on the disk; one that has two names counts once."""
    files = {(s.st_dev, s.st_ino): s.st_blocks * 512 for path in root.rglob("*") for s in (path.lstat(),)}
    return sum(files.values())
