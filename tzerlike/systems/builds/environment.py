"""A Python environment around the libraries of a build: TVM's Python code, and the matching tvm-ffi."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tzerlike.core.errors import UserError
from tzerlike.core.package import IMPORTED_FROM
from tzerlike.systems.builds.recipe import CMAKE_TARGETS, BuildRecipe
from tzerlike.systems.builds.store import BuildDir, with_debug_information

_FFI_PACKAGE = "apache-tvm-ffi"


def finished(build: BuildDir, recipe: BuildRecipe, environment: Mapping[str, str]) -> dict[str, Any]:
    """Make the environment of what was compiled, load its TVM, and return what tvm_builds/inspect.py finds there."""
    make_environment(build, recipe, environment)
    return inspect_environment(build, environment)


def make_environment(build: BuildDir, recipe: BuildRecipe, environment: Mapping[str, str]) -> None:
    """Make `build.env`, or bring it up to what was compiled; UserError when tvm-ffi cannot be had."""
    source = recipe.source
    if not build.python.exists():
        _run([sys.executable, "-m", "venv", "--without-pip", str(build.env)], environment, "cannot make an environment")
    packages = build.packages
    build.share_packages()
    wanted = f"{_FFI_PACKAGE}=={source.ffi}.*"
    if not any(packages.glob(f"apache_tvm_ffi-{source.ffi}*.dist-info")):
        command = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(build.python),
            "install",
            "--quiet",
            "--no-deps",
            wanted,
        ]
        _run(command, environment, f"cannot install {wanted}")
    _copy_package(recipe, build, packages, environment)


def _copy_package(recipe: BuildRecipe, build: BuildDir, packages: Path, environment: Mapping[str, str]) -> None:
    """Put TVM's Python code with the libraries in its place in one step, so that nobody meets a half of it.

    What is loaded has no debug information: TVM would look up the line of each frame of each exception's backtrace
    there, which takes a second in each child. Whoever wants lines finds them in the file beside it.
    """
    fresh, package, old = packages / "tvm.new", packages / "tvm", packages / "tvm.old"
    for leftover in (fresh, old):
        shutil.rmtree(leftover, ignore_errors=True)
    shutil.copytree(
        recipe.source.directory / "python" / "tvm", fresh, ignore=shutil.ignore_patterns("__pycache__", "*.so")
    )
    (fresh / "lib").mkdir()
    for target in CMAKE_TARGETS:
        library, whole = fresh / "lib" / f"lib{target}.so", build.libraries / f"lib{target}.so"
        # The linker writes a new file each time, so that a second name costs no space and changes under nobody.
        os.link(whole, with_debug_information(library))
        command = [recipe.tools.objcopy, "--strip-debug", str(whole), str(library)]
        _run(command, environment, f"cannot copy {library.name}")
    if package.exists():
        package.rename(old)
    fresh.rename(package)
    shutil.rmtree(old, ignore_errors=True)


def inspect_environment(build: BuildDir, environment: Mapping[str, str]) -> dict[str, Any]:
    """Load the TVM of `build` and return what tvm_builds/inspect.py finds; UserError when it does not load."""
    done = subprocess.run(
        [str(build.python), "-m", "tzerlike.systems.builds.inspect"],
        env={**environment, **build.variables, "PYTHONPATH": IMPORTED_FROM},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), f"status {done.returncode}")
        raise UserError(f"the build does not load: {last}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _run(command: list[str], environment: Mapping[str, str], failed: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, env=dict(environment), check=False)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).splitlines()
        reason = next((line for line in lines if line.startswith("ERROR")), lines[-1] if lines else "no reason given")
        raise UserError(f"{failed}: {reason}")
