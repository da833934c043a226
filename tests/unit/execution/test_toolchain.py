"""Finding a CUDA compiler in file trees of our own, and reading what compilers say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tzerlike.execution.cuda.device import devices
from tzerlike.execution.cuda.source import LONG, SHARE, due, first_error, first_refusal
from tzerlike.execution.cuda.toolchain import CudaCompiler, CudaToolchain, find_cuda_toolchain


def tree(root: Path, *files: str) -> Path:
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return root


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


CUDA_13 = (
    "nvidia/cu13/lib/libnvrtc.so.13",
    "nvidia/cu13/lib/libnvrtc-builtins.so.13.5",
    "nvidia/cu13/include/cuda_fp16.h",
    "nvidia/cu13/include/mma.h",
    "nvidia/cu13/include/cccl/cuda/std/cstdint",
)
CUDA_12 = ("nvidia/cuda_nvrtc/lib/libnvrtc.so.12", "nvidia/cuda_runtime/include/cuda_fp16.h",
           "nvidia/cuda_runtime/include/mma.h")  # fmt: skip
TOOLKIT = ("lib64/libnvrtc.so.12", "include/cuda_fp16.h", "include/mma.h")


def test_the_wheels_of_either_generation_are_found(tmp_path: Path) -> None:
    new = find_cuda_toolchain([str(tree(tmp_path / "new", *CUDA_13))], [], "")
    assert new is not None and new.path.name == "libnvrtc.so.13"
    assert [path.name for path in new.includes] == ["include", "cccl"]
    old = find_cuda_toolchain([str(tmp_path), str(tree(tmp_path / "old", *CUDA_12))], [], "")
    assert old is not None and old.path.name == "libnvrtc.so.12"
    assert [path.parent.name for path in old.includes] == ["cuda_runtime"]


def test_a_library_without_the_headers_of_half_precision_would_refuse_what_is_right(tmp_path: Path) -> None:
    assert find_cuda_toolchain([str(tree(tmp_path, CUDA_13[0]))], [], "") is None


def test_an_installed_toolkit_is_found_next_to_nvcc_and_nvcc_comes_last(tmp_path: Path) -> None:
    home = tree(tmp_path / "cuda", *TOOLKIT)
    nvcc = program(home / "bin" / "nvcc", "exit 0")
    found = find_cuda_toolchain([], [], str(nvcc.parent))
    assert found is not None and found.compiler is CudaCompiler.NVRTC
    (home / "lib64" / "libnvrtc.so.12").unlink()
    assert find_cuda_toolchain([], [str(home)], str(nvcc.parent)) == CudaToolchain(CudaCompiler.NVCC, nvcc)
    assert find_cuda_toolchain([], [str(home)], str(tmp_path)) is None


def test_what_is_dear_is_done_for_a_share_of_a_campaign_and_for_every_single_case() -> None:
    nvcc, nvrtc = CudaToolchain(CudaCompiler.NVCC, Path("nvcc")), CudaToolchain(CudaCompiler.NVRTC, Path("libnvrtc.so"))
    short, long = ["x" * 100], ["x" * LONG]
    cases = [f"{number:08x}{'0' * 56}" for number in range(8 * SHARE)]
    assert sum(due(nvcc, short, case, True) for case in cases) == 8
    assert sum(due(nvrtc, long, case, True) for case in cases) == 8
    assert all(due(nvrtc, short, case, True) for case in cases)
    assert all(due(nvcc, short, case, False) and due(nvrtc, long, case, False) for case in cases)


SOURCE = "float x = __nv_sqr(y); z = v12;"


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ('kernels.cu(7): warning #177-D: unused\nkernels.cu(78): error: identifier "v12" is undefined\n\n1 error',
         'error: identifier "v12" is undefined'),
        ('kernels.cu(9): error: identifier "__nv_sqr" is undefined', "error: identifier __nv_sqr is undefined"),
        ('kernels.cu(3): catastrophic error: cannot open source file "mma.h"',
         'catastrophic error: cannot open source file "mma.h"'),
        ("ptxas error   : Entry function 'main_kernel' uses too much shared data (0x138800 bytes, 0xc000 max)",
         "error   : Entry function 'main_kernel' uses too much shared data (0x138800 bytes, 0xc000 max)"),
    ],
)  # fmt: skip
def test_the_first_error_is_told_without_its_place(said: str, error: str) -> None:
    assert first_error(said, SOURCE) == error


def refused(directory: Path, answer: str) -> str | None:
    nvcc = CudaToolchain(CudaCompiler.NVCC, program(directory / "nvcc", answer))
    return first_refusal(nvcc, [SOURCE], "sm_90")


def test_only_what_a_compiler_says_of_the_source_counts(tmp_path: Path) -> None:
    message = refused(tmp_path, "echo 'kernels.cu(1): error: expected a \";\"' >&2; exit 2")
    assert message is not None
    assert message.splitlines()[0] == 'the CUDA compiler says error: expected a ";"'
    assert refused(tmp_path, "exit 0") is None
    assert refused(tmp_path, "echo 'gcc: command not found'; exit 1") is None
    assert refused(tmp_path, "echo 'fatal error: cuda.h: cannot open source file'; exit 1") is None
    assert refused(tmp_path, "echo error; kill -9 $$") is None


def test_nvcc_gets_the_source_and_the_architecture(tmp_path: Path) -> None:
    message = refused(tmp_path, 'echo "error: $(cat kernels.cu) $*"; exit 1')
    assert message is not None and SOURCE in message and "-arch sm_90" in message


def test_gpus_are_read_off_the_driver_without_starting_cuda(tmp_path: Path) -> None:
    assert devices(tree(tmp_path / "none")) == []
    for number, model in enumerate(("NVIDIA H200", "NVIDIA A10")):
        directory = tmp_path / f"0000:0{number}:00.0"
        directory.mkdir()
        (directory / "information").write_text(f"Model: \t {model}\nIRQ: 7\n")
    assert devices(tmp_path) == ["NVIDIA H200", "NVIDIA A10"]
