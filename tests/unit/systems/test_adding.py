"""TVMs that somebody else built, with wheels that take no time to install."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tzerlike.core.errors import UserError
from tzerlike.systems import TVM
from tzerlike.systems.builds import BuildDir, Store, adding
from tzerlike.systems.builds.adding import Adder, Wheel, inspected, wheel_of

WORKS = "__version__ = '0.26.0'\n"


def make_wheel(directory: Path, name: str, version: str, package: str, source: str) -> None:
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    with zipfile.ZipFile(directory / f"{name.replace('-', '_')}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{package}/__init__.py", source)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def looked(build: BuildDir, environment: Mapping[str, str]) -> dict[str, Any]:
    """What a TVM that is no compiler says of itself."""
    code = "import tvm, tvm_ffi; print(tvm.__version__, tvm_ffi.__version__, tvm.__file__, sep='\\n')"
    done = subprocess.run([build.python, "-c", code], capture_output=True, text=True, check=True)
    return dict(zip(("version", "ffi", "loaded_from"), done.stdout.split(), strict=True))


@dataclass
class Bench:
    """An index with a release that works and one that does not load, and a store."""

    index: Path
    store: Store
    environment: dict[str, str]

    def adder(self) -> Adder:
        return Adder(self.store, self.environment, inspect=looked)

    def wrong(self, wheel: Wheel, name: str = "new", adder: Adder | None = None) -> str:
        """The line that a refusal is; nothing is left behind."""
        before = [build.root for build in self.store.builds()]
        with pytest.raises(UserError) as caught:
            (adder or self.adder()).add_wheel(wheel, name)
        assert "\n" not in str(caught.value)
        assert [build.root for build in self.store.builds()] == before
        assert not any((self.store.root / "adding").glob("*"))
        return str(caught.value)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    index = tmp_path / "index"
    index.mkdir()
    make_wheel(index, "apache-tvm", "0.26.0", "tvm", WORKS)
    make_wheel(index, "apache-tvm-ffi", TVM.releases["0.26.0"], "tvm_ffi", "__version__ = 'fits'\n")
    make_wheel(index, "apache-tvm-ffi", "9.9", "tvm_ffi", "raise OSError('undefined symbol: f')\n")
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PIP_CONFIG_FILE")}
    environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index), "PIP_CONFIG_FILE": os.devnull}
    return Bench(index, Store(tmp_path / "store"), environment)


def test_a_release_gets_the_ffi_that_fits(bench: Bench) -> None:
    made = bench.adder().add_wheel(wheel_of("apache-tvm==0.26.0"), "old")
    assert (made["name"], made["state"], made["version"], made["ffi"]) == ("old", "ready", "0.26.0", "fits")
    build = bench.store.ready("old")
    assert looked(build, {})["version"] == "0.26.0"
    assert "is taken" in bench.wrong(wheel_of("apache-tvm==0.26.0"), "old")
    assert bench.store.remove("old") > 0
    assert bench.store.builds() == []


def test_an_environment_that_is_there_stays_as_it_is(bench: Bench, tmp_path: Path) -> None:
    other = tmp_path / "other"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", other], check=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(other), "platbase": str(other)}))
    with pytest.raises(UserError, match="has no tvm"):
        bench.adder().add_python(other, "mine")
    elsewhere = tmp_path / "tree"
    for package in ("tvm", "tvm_ffi"):
        (elsewhere / package).mkdir(parents=True)
        (elsewhere / package / "__init__.py").write_text("__version__ = 'mine'\n")
    (packages / "edited.pth").write_text(f"{elsewhere}\n")
    before = sorted(other.rglob("*"))
    assert bench.adder().add_python(other, "mine")["version"] == "mine"
    assert bench.adder().add_python(other / "bin/python", "again")["version"] == "mine"
    assert looked(bench.store.ready("mine"), {})["loaded_from"] == str(elsewhere / "tvm/__init__.py")
    assert sorted(other.rglob("*")) == before
    bench.store.remove("mine")
    assert (elsewhere / "tvm/__init__.py").is_file()


def test_no_environment_is_one_line(bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file or directory; name an environment with apache-tvm"):
        bench.adder().add_python(tmp_path / "nowhere", "mine")
    other = tmp_path / "python"
    other.write_text('#!/bin/sh\necho \'[[3, 9], ["/x", "/x"], []]\'\n')
    other.chmod(0o755)
    with pytest.raises(UserError, match=r"is Python 3\.9, and tzerlike runs on"):
        bench.adder().add_python(other, "mine")
    assert bench.store.builds() == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("apache-tvm==0.99.0", "no apache-tvm-ffi is known to fit apache-tvm==0.99.0; name one with --ffi"),
        ("tvm", "neither apache-tvm==VERSION or tilelang==VERSION nor a file"),
        ("tilelang==9.9", "no apache-tvm-ffi is known to fit tilelang==9.9; name one with --ffi"),
        ("gone.whl", "there is no file gone.whl"),
    ],
)
def test_what_no_wheel_is_known_of(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        wheel_of(text)


def test_a_fork_s_wheel_from_a_file(bench: Bench) -> None:
    wheel = bench.index / "apache_tvm-0.26.0-py3-none-any.whl"
    assert wheel_of(str(wheel)).ffi == TVM.releases["0.26.0"]
    assert bench.adder().add_wheel(wheel_of(str(wheel)), "fork")["version"] == "0.26.0"


def make_fork(directory: Path, places: tuple[str, ...]) -> None:
    """A wheel that carries what it calls tvm two directories down, with a library elsewhere, at `places`."""
    with zipfile.ZipFile(directory / "tilelang-0.1.15-py3-none-any.whl", "w") as wheel:
        for place in places:
            wheel.writestr(place, WORKS if place.endswith(".py") else "")
        info = "tilelang-0.1.15.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tilelang\nVersion: 0.1.15\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def test_a_package_that_carries_a_fork(bench: Bench) -> None:
    fork = TVM.forks["tilelang"]
    make_wheel(bench.index, "apache-tvm-ffi", fork.releases["0.1.15"], "tvm_ffi", "__version__ = 'fits'\n")
    make_wheel(bench.index, "z3-solver", "4.15.4", "z3", "")
    make_wheel(bench.index, "z3-solver", "4.15.5", "z3", "raise OSError")
    make_fork(bench.index, (f"{fork.python}/tvm/__init__.py", f"{fork.libraries}/libtvm_compiler.so"))
    made = bench.adder().add_wheel(wheel_of("tilelang==0.1.15"), "tile")
    assert (made["version"], made["ffi"]) == ("0.26.0", "fits")
    build = bench.store.ready("tile")
    assert looked(build, {})["version"] == "0.26.0"
    package = build.packages / fork.python / "tvm"
    assert (package / "lib" / "libtvm_compiler.so").is_file()
    assert [path.name for path in build.packages.glob("z3_solver*")] == ["z3_solver-4.15.4.dist-info"]


def test_a_fork_s_package_that_carries_nothing(bench: Bench) -> None:
    fork = TVM.forks["tilelang"]
    make_wheel(bench.index, "apache-tvm-ffi", fork.releases["0.1.15"], "tvm_ffi", "")
    make_wheel(bench.index, "z3-solver", "4.15.4", "z3", "")
    make_fork(bench.index, ("tilelang/__init__.py",))
    assert "its wheel has no" in bench.wrong(wheel_of("tilelang==0.1.15"), "tile")


def test_a_version_that_does_not_exist(bench: Bench) -> None:
    said = bench.wrong(wheel_of("apache-tvm==0.99.0", "9.9"))
    assert said.endswith("No matching distribution found for apache-tvm==0.99.0")
    assert "network" not in said


def test_no_network(bench: Bench) -> None:
    bench.environment |= {"PIP_NO_INDEX": "0", "PIP_FIND_LINKS": "", "PIP_EXTRA_INDEX_URL": "", "PIP_RETRIES": "0"}
    bench.environment["PIP_INDEX_URL"] = "http://127.0.0.1:9/simple"
    assert "is there a network?" in bench.wrong(wheel_of("apache-tvm==0.26.0"))


def test_an_ffi_that_does_not_fit(bench: Bench) -> None:
    adder = Adder(bench.store, bench.environment, inspect=inspected)
    said = bench.wrong(wheel_of("apache-tvm==0.26.0", "9.9"), adder=adder)
    assert said == "its TVM does not load: OSError: undefined symbol: f"


def test_no_space_before_and_on_the_way(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(adding.shutil, "disk_usage", lambda path: SimpleNamespace(free=5 << 20))
        assert bench.wrong(wheel_of("apache-tvm==0.26.0")).startswith("no space left for")

    def full(build: BuildDir, environment: Mapping[str, str]) -> dict[str, Any]:
        with open("/dev/full", "wb", buffering=0) as file:
            file.write(b"x")
        return {}

    adder = Adder(bench.store, bench.environment, inspect=full)
    assert bench.wrong(wheel_of("apache-tvm==0.26.0"), adder=adder).startswith("no space left; make room")


def test_a_name_is_a_name(bench: Bench) -> None:
    for name in ("all", "../up", ""):
        assert "is not a valid name" in bench.wrong(wheel_of("apache-tvm==0.26.0"), name)
