"""A small library to plant breakpoints in."""

import ctypes
import subprocess
from pathlib import Path

import pytest

from tests.memcov import SOURCES
from tzerlike import coverage
from tzerlike.coverage import BreakpointCoverage, DeathRecord, Indices, LoadedCode
from tzerlike.coverage import blocks as code_blocks


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("memcov")
    subprocess.run(
        ["make", "-s", "-C", str(SOURCES), f"LIBRARY_DIR={directory}", f"{directory}/libfixture.so"], check=True
    )
    return directory / "libfixture.so"


@pytest.fixture(scope="module")
def lib(path: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(path))


@pytest.fixture(scope="module")
def blocks(path: Path) -> Indices:
    return coverage.find_chains(path, None)[0]


@pytest.fixture(scope="module")
def base(path: Path, lib: ctypes.CDLL) -> int:
    return code_blocks.load_bias(path)


@pytest.fixture(scope="module")
def successors(path: Path) -> Indices:
    return coverage.find_chains(path, None)[1]


@pytest.fixture
def cov(lib: ctypes.CDLL, base: int, blocks: Indices, successors: Indices) -> BreakpointCoverage:
    return BreakpointCoverage([LoadedCode(base, blocks, successors)], 3)


@pytest.fixture
def record() -> DeathRecord:
    return DeathRecord()
