"""What pyproject.toml cannot say: a wheel holds the compiled coverage library and the seeds, and fits any Python 3."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent


class BuildPackage(build_py):
    """The package, with what stands beside it in a checkout. An editable install takes that from the checkout."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        package = Path(self.build_lib).resolve() / "tzerlike"
        shutil.copytree(ROOT / "seeds", package / "seeds", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__py*"))
        build: Any = runpy.run_path(str(ROOT / "memcov" / "build.py"))["build"]
        compiler = os.environ.get("CXX", "g++").split()
        try:
            build(package / "_memcov", compiler)
        except FileNotFoundError:
            raise SystemExit(
                f"tzerlike: no C++ compiler {compiler[0]!r} to build it with; apt-get install g++, or install the wheel"
            ) from None
        except subprocess.CalledProcessError as error:
            raise SystemExit(
                f"tzerlike: memcov does not compile: {compiler[0]} ended with {error.returncode}"
            ) from None


class PlatformWheel(bdist_wheel):
    """Compiled for this platform, but for no Python in particular: the library is loaded by ctypes."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


class Compiled(Distribution):
    """What is in it depends on the platform."""

    def has_ext_modules(self) -> bool:
        return True


setup(cmdclass={"build_py": BuildPackage, "bdist_wheel": PlatformWheel}, distclass=Compiled)
