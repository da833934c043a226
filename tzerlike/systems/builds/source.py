"""The source of TVM: a tree of the user's, or a release that contains one."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tzerlike.core.errors import UserError

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Source:
    """A tree of TVM's source in `directory`; `identity` names it, and is the same for the same tree."""

    identity: str
    directory: Path
    version: str

    @property
    def ffi(self) -> str:
        """The version of tvm-ffi that the tree is written for."""
        header = self.directory / "3rdparty" / "tvm-ffi" / "include" / "tvm" / "ffi" / "c_api.h"
        text = header.read_text(encoding="utf-8")
        parts = [re.search(rf"#define TVM_FFI_VERSION_{part} (\d+)", text) for part in ("MAJOR", "MINOR", "PATCH")]
        if not all(parts):
            raise UserError(
                f"{header}: does not state the version of tvm-ffi; tzerlike does not support this older TVM"
            )
        return ".".join(part[1] for part in parts if part)


def tree(path: Path) -> Source:
    """Return a tree of the user's; UserError when it does not look like one that can be built."""
    directory = path.resolve()
    if not (directory / "CMakeLists.txt").is_file() or not (directory / "python" / "tvm").is_dir():
        raise UserError(f"--source: {path} is not a source tree of TVM (CMakeLists.txt, python/tvm)")
    if not (directory / "3rdparty" / "tvm-ffi" / "CMakeLists.txt").is_file():
        raise UserError(f"--source: {path}: 3rdparty is empty; run git submodule update --init --recursive")
    return Source(str(directory), directory, _version_of(directory))


def _version_of(directory: Path) -> str:
    for name in ("pyproject.toml", "version.py"):
        file = directory / name
        match = re.search(r'^(?:__)?version(?:__)? = "([^"]+)"', file.read_text(), re.M) if file.is_file() else None
        if match:
            return match[1]
    return "unknown"


@dataclass(frozen=True, slots=True)
class Release:
    """A source distribution on a package index that holds TVM's whole source in the directory `inside`."""

    package: str
    version: str
    inside: str
    sha256: str

    @property
    def identity(self) -> str:
        return f"{self.package}=={self.version}"

    def fetch(self, sources: Path, environment: Mapping[str, str], tell: Tell) -> Source:
        """Return the source, downloaded and unpacked under `sources` if it is not there yet."""
        directory = sources / f"{self.package}-{self.version}" / Path(self.inside).name
        if not directory.is_dir():
            sources.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=sources, prefix=".unpacking-") as scratch:
                tell(f"downloading the source: {self.identity}")
                archive = self._download(Path(scratch), environment)
                tell("unpacking it")
                self._unpack(archive, Path(scratch), directory)
        return Source(self.identity, directory, _version_of(directory))

    def _download(self, scratch: Path, environment: Mapping[str, str]) -> Path:
        """Have pip download the archive from whatever index it is set up for.

        pip wants a package's metadata of every archive that it downloads, and would build it for that. The build
        backend that it finds here only writes down the name.
        """
        backend = scratch / "backend" / "scikit_build_core"
        backend.mkdir(parents=True)
        (backend / "__init__.py").write_text("")
        (backend / "build.py").write_text(_BACKEND.format(package=self.package, version=self.version))
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        command += ["--no-build-isolation", "--dest", str(scratch), self.identity]
        paths = os.pathsep.join(filter(None, (str(backend.parent), environment.get("PYTHONPATH"))))
        done = subprocess.run(
            command, capture_output=True, text=True, env={**environment, "PYTHONPATH": paths}, check=False
        )
        archives = list(scratch.glob(f"{self.package}-{self.version}.tar.gz"))
        if done.returncode != 0 or not archives:
            errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            reason = errors[-1] if errors else "pip failed"
            raise UserError(f"{self.identity} cannot be downloaded ({reason}); name your own tree with --source")
        self.verify(archives[0])
        return archives[0]

    def verify(self, archive: Path) -> None:
        """UserError unless this is the very file that is known to build."""
        with archive.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != self.sha256:
                raise UserError(f"{self.identity}: the index serves a different file from the one known to build")

    def _unpack(self, archive: Path, scratch: Path, directory: Path) -> None:
        prefix = f"{self.package}-{self.version}/{self.inside}"
        with tarfile.open(archive) as packed:
            members = [m for m in packed if m.name == prefix or m.name.startswith(prefix + "/")]
            packed.extractall(scratch / "tree", members, filter="data")
        directory.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(scratch / "tree" / prefix, directory)


_BACKEND = """
import os

def prepare_metadata_for_build_wheel(directory, config_settings=None):
    name = "{package}-{version}.dist-info"
    os.makedirs(os.path.join(directory, name))
    with open(os.path.join(directory, name, "METADATA"), "w") as file:
        file.write("Metadata-Version: 2.1\\nName: {package}\\nVersion: {version}\\n")
    return name
"""

KNOWN = Release(
    "tilelang",
    "0.1.14",
    "3rdparty/tvm",
    "7ae0fba6c63dae80b3c9c5c11a70bb8d7165794994f290f36e2fe87bfb143cfc",
)
"""A complete tree of TVM 0.25.dev0; there is no source distribution of TVM itself."""
