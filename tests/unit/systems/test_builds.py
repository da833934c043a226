"""Builds from source, on a project that looks like TVM to the recipe and takes seconds."""

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sysconfig
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tzerlike.core.errors import UserError
from tzerlike.core.package import MEMCOV
from tzerlike.systems.builds import BuildDir, Store
from tzerlike.systems.builds import make as making
from tzerlike.systems.builds.environment import make_environment
from tzerlike.systems.builds.interruptions import space_needed
from tzerlike.systems.builds.make import Maker
from tzerlike.systems.builds.ninja import Progress, failure, progress_of, run_ninja
from tzerlike.systems.builds.recipe import BuildRecipe
from tzerlike.systems.builds.source import Release, tree
from tzerlike.systems.builds.tools import Toolchain, find_toolchain

CMAKE = """
cmake_minimum_required(VERSION 3.18)
project(tvm C CXX)
add_library(tvm_runtime SHARED src/runtime.cc)
add_library(tvm_compiler SHARED src/first.cc src/second.cc)
set_target_properties(tvm_runtime tvm_compiler PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
"""
FFI_HEADER = "\n".join(f"#define TVM_FFI_VERSION_{part} {n}" for part, n in (("MAJOR", 9), ("MINOR", 8), ("PATCH", 7)))


def toolchain() -> Toolchain:
    try:
        return find_toolchain()
    except UserError as error:
        pytest.skip(f"nothing can be built here: {error}")


def make_tree(root: Path) -> Path:
    files = {
        "CMakeLists.txt": CMAKE,
        "pyproject.toml": '[project]\nname = "tvm"\nversion = "0.1.toy"\n',
        "python/tvm/__init__.py": "marker = 'toy'\n",
        "3rdparty/tvm-ffi/CMakeLists.txt": "",
        "3rdparty/tvm-ffi/include/tvm/ffi/c_api.h": FFI_HEADER,
        "src/runtime.cc": "int runtime(int x) { return x ? 1 : 2; }\n",
        "src/first.cc": "const char *first(int x) { return x ? __FILE__ : 0; }\n",
        "src/second.cc": "int second(int x) { return x ? 3 : 4; }\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def make_wheel(directory: Path, version: str) -> None:
    info = f"apache_tvm_ffi-{version}.dist-info"
    with zipfile.ZipFile(directory / f"apache_tvm_ffi-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tvm_ffi/__init__.py", f"version = {version!r}\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: apache-tvm-ffi\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def furnished(build: BuildDir, recipe: BuildRecipe, environment: Mapping[str, str]) -> dict[str, Any]:
    """Make the environment of a build, and return what it holds."""
    make_environment(build, recipe, environment)
    code = (
        "import json, tvm, tvm_ffi, numpy, pathlib\n"
        "libraries = sorted(p.name for p in (pathlib.Path(tvm.__file__).parent / 'lib').iterdir())\n"
        "print(json.dumps({'version': tvm.marker, 'ffi': tvm_ffi.version, 'libraries': libraries}))"
    )
    done = subprocess.run([str(build.python), "-c", code], check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def sections(library: Path) -> str:
    return subprocess.run(["readelf", "-S", "-W", str(library)], check=True, capture_output=True, text=True).stdout


@dataclass
class Bench:
    """A store, a source and a maker that writes down what it says."""

    tools: Toolchain
    source: Path
    store: Store
    environment: dict[str, str]
    said: list[str] = field(default_factory=list)
    shown: list[Progress] = field(default_factory=list)
    finish: Callable[[BuildDir, BuildRecipe, Mapping[str, str]], dict[str, Any]] = lambda build, recipe, environment: {}

    def make(self, name: str = "toy") -> dict[str, Any]:
        self.said.clear()
        self.shown.clear()
        maker = Maker(self.store, self.environment, self.said.append, self.shown.append, finish=self.finish)
        return maker.make(BuildRecipe(tree(self.source), self.tools), name, jobs=1)

    def wrong(self, name: str = "toy") -> str:
        with pytest.raises(UserError) as caught:
            self.make(name)
        assert "\n" not in str(caught.value)
        return str(caught.value)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    tools = toolchain()
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for version in ("9.8.6", "9.8.7.post1", "9.8.8"):
        make_wheel(wheels, version)
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    return Bench(tools, make_tree(tmp_path / "tree"), Store(tmp_path / "store"), environment)


def test_a_build_is_an_environment_with_the_ffi_that_fits(bench: Bench) -> None:
    bench.finish = furnished
    made = bench.make()
    assert (made["name"], made["state"], made["version"], made["ffi"]) == ("toy", "ready", "toy", "9.8.7.post1")
    names = ["libtvm_compiler.so", "libtvm_runtime.so"]
    assert made["libraries"] == [file for name in names for file in (name, f"{name}.debug")]
    assert [p.done for p in bench.shown] == list(range(1, bench.shown[-1].total + 1))
    (build,) = bench.store.builds()
    library = build.libraries / "libtvm_compiler.so"
    (loaded,) = build.env.rglob(library.name)
    assert ".debug_line" in sections(loaded.with_name(f"{library.name}.debug"))
    assert ".debug_line" not in sections(loaded) and ".symtab" in sections(loaded)
    symbols = subprocess.run(["nm", "-D", str(library)], check=True, capture_output=True, text=True).stdout
    assert "memcov_sancov_sections" in symbols
    assert b"/project/src/first.cc" in library.read_bytes()
    assert str(bench.source).encode() not in library.read_bytes()


def test_a_build_that_is_ready_compiles_only_what_changed(bench: Bench) -> None:
    bench.finish = furnished
    bench.make()
    bench.make()
    assert bench.shown == []
    (bench.source / "src" / "second.cc").write_text("int second(int x) { return x; }\n")
    (bench.source / "python" / "tvm" / "__init__.py").write_text("marker = 'changed'\n")
    made = bench.make()
    assert bench.shown[-1].total == 2, "one file and one library"
    assert made["version"] == "changed"


def test_after_a_failed_compile_it_goes_on_from_there(bench: Bench) -> None:
    second = bench.source / "src" / "second.cc"
    second.write_text("int second(int x) { return y; }\n")
    said = bench.wrong()
    assert "second.cc" in said and "'y'" in said and "run the same command again" in said
    (build,) = bench.store.builds()
    assert build.described["state"] == "unfinished"
    with pytest.raises(UserError, match="tvm build --name toy"):
        bench.store.ready("toy")
    compiled = {p.name: p.stat().st_mtime_ns for p in build.build.rglob("*.o")}
    second.write_text("int second(int x) { return x; }\n")
    assert bench.make()["state"] == "ready"
    again = {p.name: p.stat().st_mtime_ns for p in build.build.rglob("*.o")}
    assert compiled and {name: again[name] for name in compiled} == compiled


def test_after_an_interrupt_it_goes_on_from_there(bench: Bench) -> None:
    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    maker = Maker(bench.store, bench.environment, bench.said.append, interrupt, finish=bench.finish)
    recipe = BuildRecipe(tree(bench.source), bench.tools)
    with pytest.raises(KeyboardInterrupt):
        maker.make(recipe, "toy", jobs=1)
    (build,) = bench.store.builds()
    assert build.described["state"] == "unfinished"
    assert len(list(build.build.rglob("*.o"))) >= 1
    assert bench.make()["state"] == "ready"


def test_no_space_is_told_before_anything_is_compiled(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(making.shutil, "disk_usage", lambda path: SimpleNamespace(free=5 << 20))
        assert "5 MiB free" in bench.wrong()
    (build,) = bench.store.builds()
    assert not build.build.exists()
    assert bench.make()["state"] == "ready"


def test_a_disk_that_fills_up_on_the_way() -> None:
    with pytest.raises(UserError, match=r"no space left for /x/y; make room .* again"), space_needed():
        raise OSError(errno.ENOSPC, "No space left on device", "/x/y")
    with pytest.raises(PermissionError), space_needed():
        raise PermissionError(errno.EACCES, "Permission denied")


def test_a_build_that_another_tzerlike_made_finds_the_packages_of_this_one(bench: Bench) -> None:
    bench.make()
    (build,) = bench.store.builds()
    build.packages.mkdir(parents=True, exist_ok=True)
    needs = build.packages / "tzerlike-needs.pth"
    needs.write_text("/gone/site-packages\n")
    bench.store.ready("toy")
    assert needs.read_text() == sysconfig.get_path("purelib") + "\n"


def test_names_belong_to_one_build_each(bench: Bench, tmp_path: Path) -> None:
    bench.make("mine")
    bench.source = make_tree(tmp_path / "other")
    assert "tvm remove mine" in bench.wrong("mine")
    bench.make("yours")
    assert [build.described["name"] for build in bench.store.builds()] == ["mine", "yours"]
    assert bench.store.ready("yours").described["source"] == str(tmp_path / "other")
    with pytest.raises(UserError, match="there are: mine, yours"):
        bench.store.named("ours")
    assert bench.store.remove("mine") > 0
    assert [build.described["name"] for build in bench.store.builds()] == ["yours"]
    assert (tmp_path / "tree").is_dir(), "a tree of the user's is not ours to remove"


def test_two_at_one_build_do_not_meet(bench: Bench) -> None:
    build = bench.store.at(BuildRecipe(tree(bench.source), bench.tools).key)
    with build.locked():
        assert "wait for it" in bench.wrong()


def test_what_is_missing_is_one_line() -> None:
    with pytest.raises(UserError) as caught:
        find_toolchain(lambda program: None)
    packages = str(caught.value).partition("apt-get install ")[2].split()
    assert {"clang-19", "lld-19", "llvm-19-dev", "libclang-rt-19-dev", "cmake", "ninja-build", "zlib1g-dev"} <= set(
        packages
    )
    toolchain()
    with pytest.raises(UserError, match=r"apt-get install ninja-build$"):
        find_toolchain(lambda program: None if program == "ninja" else shutil.which(program))


def test_trees_that_cannot_be_built(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a source tree of TVM"):
        tree(tmp_path)
    shutil.rmtree(make_tree(tmp_path) / "3rdparty")
    with pytest.raises(UserError, match="git submodule"):
        tree(tmp_path)


def test_the_key_is_of_source_and_compiler(tmp_path: Path) -> None:
    tools = Toolchain("clang++", "clang 1", "llvm-config")
    one, other = tree(make_tree(tmp_path / "one")), tree(make_tree(tmp_path / "other"))
    newer = Toolchain("clang++", "clang 2", "llvm-config")
    keys = [BuildRecipe(one, tools).key, BuildRecipe(other, tools).key, BuildRecipe(one, newer).key]
    assert len(set(keys)) == 3
    assert keys[0] == BuildRecipe(tree(tmp_path / "one"), tools).key


def test_progress_and_failures_of_ninja() -> None:
    assert progress_of("[30/120] Building CXX object a.o", 60) == Progress(30, 120, 60, 180)
    assert progress_of("[0/2] Re-checking globbed directories...", 1) is None
    assert progress_of("a.cc:1: warning: [1/2]", 1) is None
    assert Progress(30, 120, 60, 180).line() == "30 of 120 steps, 60 s elapsed, about 3 min left"
    log = Path("build.log")
    full = failure(["FAILED: a.o", "fatal error: error in backend: IO failure: No space left on device"], log)
    assert full.startswith("no space left") and "same command" in full
    assert "smaller --jobs" in failure(["FAILED: a.o", "clang++: error: unable to execute command: Killed"], log)
    assert failure(["[1/2] x", "FAILED: a.o", "a.cc:1:2: error: no"], log).startswith(
        "a.o failed: a.cc:1:2: error: no;"
    )


def test_an_interrupt_that_reaches_ninja_alone(tmp_path: Path) -> None:
    ninja = tmp_path / "ninja"
    ninja.write_text("#!/bin/sh\necho '[1/3] a'; echo 'ninja: build stopped: interrupted by user.'; exit 2\n")
    ninja.chmod(0o755)
    shown: list[Progress] = []
    with pytest.raises(KeyboardInterrupt):
        run_ninja(tmp_path, ["all"], 1, tmp_path / "log", shown.append, {"PATH": f"{tmp_path}:/bin:/usr/bin"})
    assert [progress.done for progress in shown] == [1]
    assert "interrupted" in (tmp_path / "log").read_text()


def test_a_release_comes_from_the_index(tmp_path: Path) -> None:
    package = make_tree(tmp_path / "toysdist-1.2" / "inside" / "tvm").parents[1]
    (package / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["scikit-build-core"]\nbuild-backend = "scikit_build_core.build"\n'
    )
    index = tmp_path / "index"
    index.mkdir()
    archive = index / "toysdist-1.2.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(package, package.name)
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index)}
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    release = Release("toysdist", "1.2", "inside/tvm", digest)
    said: list[str] = []
    source = release.fetch(tmp_path / "sources", environment, said.append)
    assert (source.identity, source.version, source.ffi) == ("toysdist==1.2", "0.1.toy", "9.8.7")
    assert len(said) == 2
    shutil.rmtree(index)
    assert release.fetch(tmp_path / "sources", environment, said.append) == source
    assert len(said) == 2, "nothing is downloaded twice"
    with pytest.raises(UserError, match="--source"):
        release.fetch(tmp_path / "elsewhere", environment, said.append)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_release_that_is_another_file(tmp_path: Path) -> None:
    archive = tmp_path / "toysdist-1.2.tar.gz"
    archive.write_bytes(b"not what is expected")
    release = Release("toysdist", "1.2", "inside/tvm", "0" * 64)

    with pytest.raises(UserError, match="a different file"):
        release.verify(archive)


def test_the_library_that_is_linked_in_is_there() -> None:
    if not MEMCOV.exists():
        pytest.skip("libmemcov.so has not been built")
    assert (MEMCOV.parent / "sancov_hooks.o").is_file() and (MEMCOV.parent / "sancov.ld").is_file()
