"""Environments around an existing TVM: made from wheels, or around an existing environment.

Both are kept in the store of builds. Whatever fails is one UserError, and leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tzerlike.core.errors import UserError
from tzerlike.core.package import IMPORTED_FROM
from tzerlike.core.storage import write_json
from tzerlike.systems import TVM, Fork
from tzerlike.systems.builds.interruptions import space_needed
from tzerlike.systems.builds.store import BuildDir, Store

_SPACE = 1 << 30
"""Bytes that a wheel takes while it is installed: itself, and what is in it."""

_NO_NETWORK = re.compile(
    r"Failed to establish|name resolution|Name or service not known|Connection (refused|reset)|Network is unreachable"
    r"|[Tt]imed out|Max retries|connection broken|Could not fetch URL"
)
_WHAT_IT_HOLDS = "an environment with apache-tvm or your own build, and a matching apache-tvm-ffi"
_ITS_PLACES = """
import importlib.util, json, os, site, sys, sysconfig
specs = [importlib.util.find_spec(name) for name in ("tvm", "tvm_ffi")]
homes = [os.path.dirname(os.path.dirname(spec.origin)) if spec and spec.origin else "" for spec in specs]
others = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()]
print(json.dumps([sys.version_info[:2], homes, others]))
"""
"""Prints a Python's version, where it has tvm and tvm_ffi, and where it has other packages."""

_PASSED_ON = ("TVM_LIBRARY_PATH",)
"""Variables that say where the libraries of a TVM are."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel of TVM or of a fork as pip takes it, its version, and the tvm-ffi to install with it."""

    requirement: str
    version: str
    ffi: str
    fork: Fork | None = None

    @property
    def wanted(self) -> list[str]:
        """All that is installed, in pip's words."""
        needs = () if self.fork is None else self.fork.needs
        return [self.requirement, f"apache-tvm-ffi=={self.ffi}", *needs]


def wheel_of(text: str, ffi: str = "") -> Wheel:
    """Read `PACKAGE==VERSION`, or the path of a wheel; UserError where no tvm-ffi is known to fit and none is named.

    A package is apache-tvm or one of the forks. A wheel from a file has whatever version its name says: a fork's is
    hardly in the table.
    """
    path = Path(text)
    if text.endswith(".whl"):
        if not path.is_file():
            raise UserError(f"--wheel: there is no file {text}")
        package, version = path.name.split("-")[:2] if path.name.count("-") >= 4 else ("", "")
        requirement = str(path.resolve())
    else:
        named = re.fullmatch(rf"({'|'.join(('apache-tvm', *TVM.forks))})==([\w.+!]+)", text.replace(" ", ""))
        if named is None:
            packages = " or ".join(f"{package}==VERSION" for package in ("apache-tvm", *TVM.forks))
            raise UserError(f"--wheel: {text!r} is neither {packages} nor a file that ends with .whl")
        requirement, package, version = named[0], named[1], named[2]
    fork = TVM.forks.get(package)
    releases = TVM.releases if fork is None else fork.releases
    ffi = ffi or releases.get(version, "")
    if not ffi:
        tried = ", ".join(f"{own} with {other}" for own, other in releases.items())
        raise UserError(f"--wheel: no apache-tvm-ffi is known to fit {text}; name one with --ffi (tried: {tried})")
    return Wheel(requirement, version, ffi, fork)


def inspected(build: BuildDir, environment: Mapping[str, str]) -> dict[str, Any]:
    """Load the TVM of an environment and return what `look` finds there; UserError when it does not load."""
    done = subprocess.run(
        [str(build.python), "-m", "tzerlike.systems.builds.look"],
        env={**environment, **build.variables, "PYTHONPATH": IMPORTED_FROM},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode < 0:
        raise UserError(f"its TVM does not load: it dies of {signal.Signals(-done.returncode).name}")
    if done.returncode:
        last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), f"status {done.returncode}")
        raise UserError(f"its TVM does not load: {last.strip()}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@dataclass(frozen=True, slots=True)
class Adder:
    """Adds environments to a store, under names that are free. `tell` gets a line for each step."""

    store: Store
    environment: Mapping[str, str]
    tell: Callable[[str], None] = lambda line: None
    inspect: Callable[[BuildDir, Mapping[str, str]], dict[str, Any]] = inspected

    def add_wheel(self, wheel: Wheel, name: str) -> dict[str, Any]:
        """Make an environment with a wheel and its ffi, and return its description."""
        with self._new(name) as build:
            free = shutil.disk_usage(build.root).free
            if free < _SPACE:
                raise UserError(
                    f"no space left for {self.store.root}: {free >> 20} MiB free, a wheel needs {_SPACE >> 20}; make "
                    "room, or set XDG_CACHE_HOME to a directory on another disk"
                )
            self._make(build)
            self.tell(f"installing {wheel.requirement} with apache-tvm-ffi {wheel.ffi}")
            self._install(build, wheel)
            if wheel.fork is not None:
                self._uncover(build, wheel.fork)
            return self._finish(build, {"name": name, "source": wheel.requirement, "kind": "wheel"})

    def add_python(self, python: Path, name: str) -> dict[str, Any]:
        """Make an environment that finds what another has, and nothing is written to; return its description."""
        python = python / "bin" / "python" if python.is_dir() else python
        places = self._places(python)
        with self._new(name) as build:
            self._make(build)
            # Not as a path alone: what is installed to be edited is found by .pth files of that environment.
            lines = f"import site; list(map(site.addsitedir, {places!r}))\n"
            (build.packages / "tested.pth").write_text(lines)
            variables = {own: self.environment[own] for own in _PASSED_ON if own in self.environment}
            label = {"name": name, "source": str(python.absolute()), "kind": "environment", "variables": variables}
            return self._finish(build, label)

    def _places(self, python: Path) -> list[str]:
        """The directories in which another Python has its packages."""
        try:
            done = subprocess.run(
                [str(python), "-c", _ITS_PLACES],
                capture_output=True,
                text=True,
                env=dict(self.environment),
                check=False,
            )
        except OSError as error:
            raise UserError(f"--python: {python}: {error.strerror}; name {_WHAT_IT_HOLDS}") from error
        if done.returncode:
            raise UserError(f"--python: {python} is not a Python that starts; name {_WHAT_IT_HOLDS}")
        version, homes, others = json.loads(done.stdout.splitlines()[-1])
        if tuple(version) != sys.version_info[:2]:
            own = ".".join(map(str, sys.version_info[:2]))
            raise UserError(
                f"--python: {python} is Python {'.'.join(map(str, version))}, and tzerlike runs on {own}; both have to "
                "be the same, since packages are shared"
            )
        if not all(homes):
            raise UserError(f"--python: {python} has no {'tvm' if not homes[0] else 'tvm_ffi'}; name {_WHAT_IT_HOLDS}")
        return list(dict.fromkeys([*homes, *others]))

    @contextlib.contextmanager
    def _new(self, name: str) -> Iterator[BuildDir]:
        """An empty directory that becomes a build of the store once the block is left, or vanishes."""
        if not re.fullmatch(r"[A-Za-z0-9][\w.+-]*", name) or name == "all":
            raise UserError(f"{name!r} is not a valid name: use letters, digits and . _ + -, and not 'all'")
        if any(other.described["name"] == name for other in self.store.builds()):
            raise UserError(
                f"the name {name!r} is taken; choose another, or remove that TVM first: tzerlike tvm remove {name}"
            )
        final = self.store.at(f"added-{hashlib.sha256(name.encode()).hexdigest()[:16]}")
        with space_needed("give the same command again"):
            place = self.store.root / "adding"
            place.mkdir(parents=True, exist_ok=True)
            root = Path(tempfile.mkdtemp(dir=place))
            try:
                yield BuildDir(root)
                final.root.parent.mkdir(exist_ok=True)
                root.rename(final.root)
            finally:
                shutil.rmtree(root, ignore_errors=True)

    def _make(self, build: BuildDir) -> None:
        command = [sys.executable, "-m", "venv", "--without-pip", str(build.env)]
        done = subprocess.run(command, capture_output=True, text=True, env=dict(self.environment), check=False)
        if done.returncode:
            raise UserError(_reason(done.stderr or done.stdout, "cannot make an environment"))
        build.share_packages()

    def _install(self, build: BuildDir, wheel: Wheel) -> None:
        pip = [sys.executable, "-m", "pip", "--python", str(build.python)]
        options = ("--no-deps", "--ignore-installed", "--no-cache-dir", "--only-binary", ":all:")
        command = [*pip, "install", *options, *wheel.wanted]
        done = subprocess.run(command, capture_output=True, text=True, env=dict(self.environment), check=False)
        if done.returncode:
            raise UserError(_reason(done.stderr or done.stdout, f"cannot install {' with '.join(wheel.wanted)}"))

    def _uncover(self, build: BuildDir, fork: Fork) -> None:
        """Have the environment find the TVM inside a fork's package, and that TVM its libraries."""
        package, libraries = build.packages / fork.python / "tvm", build.packages / fork.libraries
        if not package.is_dir() or not libraries.is_dir():
            raise UserError(f"its wheel has no {fork.python}/tvm or no {fork.libraries}")
        (build.packages / "tested.pth").write_text(f"{fork.python}\n")
        # Where a wheel of TVM has them. Relative, since the environment is moved once it is complete.
        (package / "lib").symlink_to(os.path.relpath(libraries, package))

    def _finish(self, build: BuildDir, label: Mapping[str, Any]) -> dict[str, Any]:
        self.tell("loading it")
        write_json(build.label, {"directory": "", "compiler": "", "sanitizer": "none", "variables": {}, **label})
        found = self.inspect(build, self.environment)
        ours, source = sysconfig.get_path("purelib"), str(label["source"])
        if found["loaded_from"].startswith(f"{ours}/") and source != sys.executable:
            raise UserError(f"{source}: another TVM is loaded instead of its own: {ours}")
        write_json(build.ready, {"edges": 0, "seconds": 0, **found})
        build.cache.mkdir()
        return build.described


def _reason(said: str, failed: str) -> str:
    """One line on what went wrong, by what a program said."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if "No space left on device" in said or "Disk quota exceeded" in said:
        return f"no space left: {failed}; make room and give the same command again"
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR")]
    why = (errors or lines or ["no reason given"])[-1]
    if "(from versions: none)" in said or any(_NO_NETWORK.search(line) for line in lines):
        return f"{failed}: no index that pip can reach has it at all; is there a network? ({why})"
    return f"{failed}: {why}"
