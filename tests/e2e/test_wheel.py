"""What a user gets by pip: a wheel and a source distribution, in an environment of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT

pytestmark = pytest.mark.long

NOBODY = 65534
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
USED = ("memcov", "seeds", "tzerlike", "setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A directory that every user can read: those of pytest are for one."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory)
        path.chmod(0o755)
        yield path


@pytest.fixture(scope="module")
def sdist(place: Path) -> Path:
    sources = place / "sources"
    sources.mkdir()
    for name in USED:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "_memcov")
            shutil.copytree(ROOT / name, sources / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, sources)
    builder = environment(place / "builder")
    said(builder, "-m", "pip", "install", "--quiet", "setuptools>=77")
    said(builder, "-c", "from setuptools.build_meta import build_sdist as b; b('..')", directory=sources)
    return next(place.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(place: Path, sdist: Path) -> Path:
    """The wheel that the source distribution builds with g++."""
    said(place / "builder/bin/python", "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(place), str(sdist))
    return next(place.glob("*.whl"))


def environment(path: Path) -> Path:
    """Make an empty environment of the Python that every user can run, if there is one; returns its python."""
    system = Path("/usr/bin/python3")
    subprocess.run([system if usable(system) else sys.executable, "-m", "venv", path], check=True)
    return path / "bin" / "python"


def usable(python: Path) -> bool:
    probe = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))"
    return (
        python.exists()
        and subprocess.run([python, "-c", probe], stderr=subprocess.DEVNULL, check=False).returncode == 0
    )


def said(
    *command: object, directory: Path | None = None, variables: Mapping[str, str] | None = None, user: int = 0
) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=directory,
        env=PLAIN if variables is None else dict(variables),
        user=user or None,
        group=user or None,
        extra_groups=[] if user else None,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def test_the_wheel_fits_every_python_of_this_platform_and_is_whole(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-linux_x86_64.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        library = archive.read("tzerlike/_memcov/libmemcov.so")
    assert {"tzerlike/py.typed", "tzerlike/seeds/MANIFEST.toml", "tzerlike/_memcov/sancov_hooks.o"} <= names
    assert not [name for name in names if name.startswith(("tests", "scripts", "memcov"))]
    assert b"libstdc++.so" not in library


@pytest.mark.parametrize("user", [0, NOBODY], ids=["caller", "nobody"])
def test_what_is_installed_works_without_a_compiler(place: Path, wheel: Path, user: int) -> None:
    python = place / "user" / "bin" / "python"
    if not python.exists():
        environment(place / "user")
        said(python, "-m", "pip", "install", "--quiet", wheel)
    if user and (os.geteuid() != 0 or not python.resolve().is_relative_to("/usr")):
        pytest.skip("only root can be another user, who needs a Python in /usr")
    home = place / f"home-{user}"
    home.mkdir(mode=0o777)
    home.chmod(0o777)
    variables = {"HOME": str(home), "PATH": str(python.parent)}

    def tzerlike(*arguments: str) -> str:
        return said(python.parent / "tzerlike", *arguments, directory=home, variables=variables, user=user)

    assert "FAIL" not in tzerlike("doctor")
    assert tzerlike("seeds", "list").splitlines()[-1].endswith(" seeds")
    tzerlike("fuzz", "--budget", "15s", "--jobs", "1", "--seed", "1", "--ui", "none")
    tzerlike("report", "campaign", "--html", "page.html")
    assert "<html" in (home / "page.html").read_text()
