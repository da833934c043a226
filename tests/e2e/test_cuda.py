"""The cuda target without a GPU: generated source, a real CUDA compiler where there is one, commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, Command, environment
from tests.puzzles.conftest import served
from tzerlike.core.case import Case, ContextConfig
from tzerlike.core.effort import Effort
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import Ending, Ran, Rejection, Results
from tzerlike.core.targets import target_text
from tzerlike.coverage import NoCoverage
from tzerlike.execution import rejection
from tzerlike.execution.cuda.source import SourceRefused, first_refusal, machine_code
from tzerlike.execution.cuda.toolchain import CudaCompiler, CudaToolchain, find_cuda_toolchain
from tzerlike.execution.stages import run_case
from tzerlike.harnesses.tir.regression import regression_test
from tzerlike.harnesses.tir.script import nvrtc_source, repro_script
from tzerlike.oracles import effort_for
from tzerlike.oracles.crash import judge_crash
from tzerlike.oracles.inconsistency import judge_inconsistency
from tzerlike.oracles.internal_error import judge_internal_error
from tzerlike.passes.label import Label
from tzerlike.processes.confine import why_unconfined
from tzerlike.processes.forked import in_child
from tzerlike.processes.lane import Lane
from tzerlike.systems.tvm_api import load_ir
from tzerlike.systems.tvm_build import bind_target, build, cuda_sources, target_of
from tzerlike.tir.seeds import Seed, builtin_seeds

CACHE = ROOT / "build" / "test-cache" / "tzerlike"
KERNELS = ROOT / "seeds" / "gpu.py"

needs_compiler = pytest.mark.skipif(
    find_cuda_toolchain() is None, reason="no CUDA compiler: pip install 'tzerlike[cuda]', or put nvcc on the PATH"
)


@pytest.fixture(scope="module")
def seeds() -> dict[str, Seed]:
    CACHE.mkdir(parents=True, exist_ok=True)
    return {seed.name: seed for seed in builtin_seeds(CACHE, "cuda")}


def source_of(seed: Seed) -> str:
    def work() -> str:
        target = target_of(target_text("cuda"))
        with target:
            (source,) = cuda_sources(build(bind_target(load_ir(seed.ir), target), target).executable.mod)
        return source

    source, signal = in_child(work)
    assert signal == 0 and source is not None
    return source


NAMES = ("handwritten.gpu.half_kernel", "handwritten.gpu.explicit_barrier", "relax.dlight_gpu.softmax.f32_4x33")


@needs_compiler
def test_a_cuda_compiler_takes_what_tvm_generates_and_refuses_what_is_broken(seeds: dict[str, Seed]) -> None:
    toolchain = find_cuda_toolchain()
    assert toolchain is not None
    sources = [source_of(seeds[name]) for name in NAMES]
    assert first_refusal(toolchain, sources, "sm_90") is None
    broken = sources[1].replace("((int)threadIdx.x)", "lane_of_nobody", 1)
    message = first_refusal(toolchain, [sources[0], broken], "sm_90")
    assert message is not None
    assert message.splitlines()[0] == 'the CUDA compiler says error: identifier "lane_of_nobody" is undefined'
    # An architecture that the compiler does not know is no fault of the source.
    assert first_refusal(toolchain, [broken], "sm_33") is None


@pytest.mark.skipif(
    (toolchain := find_cuda_toolchain()) is None or toolchain.compiler is not CudaCompiler.NVRTC, reason="no NVRTC"
)
def test_nvrtc_does_its_work_in_a_confined_child(seeds: dict[str, Seed]) -> None:
    source = source_of(seeds[NAMES[0]])

    def work() -> str:
        toolchain = find_cuda_toolchain()
        assert toolchain is not None
        assert "Seccomp:\t2" in Path("/proc/self/status").read_text() or why_unconfined()
        said = first_refusal(toolchain, ["__global__ void f() { nobody(); }"], "sm_90") or ""
        return "" if first_refusal(toolchain, [source], "sm_90") is None and "nobody" in said else f"it says {said}"

    assert in_child(work) == ("", 0)


INTERNAL = Label.INTERNAL_ERROR.value

REFUSES = "#!/bin/sh\necho 'kernels.cu(9): error: no operator + for half2'\nexit 2\n"


def run_with(nvcc: Path, case: Case, monkeypatch: pytest.MonkeyPatch, effort: Effort) -> Observation:
    """What becomes of a case on a machine whose CUDA compiler is the program `nvcc`."""
    toolchain = CudaToolchain(CudaCompiler.NVCC, nvcc)
    for module in ("tzerlike.execution.cuda.offering", "tzerlike.execution.rejection", "tzerlike.execution.sources"):
        monkeypatch.setattr(f"{module}.find_cuda_toolchain", lambda: toolchain)
    with served(Lane.prepare(0, NoCoverage(), run_case, rejection.JOBS), Limits()) as executor:
        (seen,) = executor.run([case], count=False, effort=effort)
    return seen


def test_refused_source_of_a_defined_program_is_told_with_the_words_of_the_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seeds: dict[str, Seed]
) -> None:
    nvcc = tmp_path / "nvcc"
    nvcc.write_text(REFUSES)
    nvcc.chmod(0o755)
    config = ContextConfig(options=(("tirx.disable_assert", True),))
    case = Case(seeds["handwritten.gpu.guarded"].ir, (), config, target_text("cuda"))
    seen = run_with(nvcc, case, monkeypatch, effort_for(["internal-error"]))
    assert (seen.exit, seen.stage) == (Exit.REJECTED, Stage.COMPILE_DEVICE)
    finding = judge_internal_error(case, seen)
    assert finding is not None and finding.kind == "ice-on-valid"
    assert finding.parts[0] == "compile_device"
    assert "the CUDA compiler says error: no operator + for half" in finding.parts[1]
    script = repro_script(finding, Limits(), "")
    assert ("nvcc.compile_cuda(source" in script or "nvrtc_log(source" in script) and "'sm_90'" in script
    compile(script, "repro.py", "exec")

    # Without the oracle nobody asks the CUDA compiler, and what it does is not TVM's doing.
    assert run_with(nvcc, case, monkeypatch, effort_for(["crash"])).exit is Exit.OK
    assert judge_crash(case, Observation(Exit.TIMEOUT, Stage.COMPILE_DEVICE)) is None


def test_a_program_that_races_has_no_claim_on_a_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seeds: dict[str, Seed]
) -> None:
    nvcc = tmp_path / "nvcc"
    nvcc.write_text(REFUSES)
    nvcc.chmod(0o755)
    text = seeds["handwritten.gpu.explicit_barrier"].ir.replace("tvm_storage_sync", "tvm_thread_invariant")
    case = Case(text, (), ContextConfig(), target_text("cuda"))
    seen = run_with(nvcc, case, monkeypatch, effort_for(["internal-error"]))
    assert seen.exit is Exit.REJECTED
    assert judge_internal_error(case, seen) is None


@pytest.mark.parametrize("compiler", CudaCompiler)
def test_the_regression_test_of_refused_source_asks_the_compiler_that_refused_it(
    compiler: CudaCompiler, monkeypatch: pytest.MonkeyPatch, seeds: dict[str, Seed]
) -> None:
    found = lambda: CudaToolchain(compiler, Path("somewhere"))  # noqa: E731
    monkeypatch.setattr("tzerlike.harnesses.tir.script.find_cuda_toolchain", found)
    case = Case(seeds["handwritten.gpu.two_kernels"].ir, (), ContextConfig(), target_text("cuda"))
    seen = Observation(
        Exit.REJECTED, Stage.COMPILE_DEVICE, "SourceRefused: error: no", rejection=Rejection(INTERNAL, True, "defined")
    )
    finding = judge_internal_error(case, seen)
    assert finding is not None
    text = regression_test(finding, Limits(), "").text
    compile(text, "test_regression.py", "exec")
    assert "executable = tvm.compile(Module, target)" in text
    script = repro_script(finding, Limits(), "")
    compile(script, "repro.py", "exec")
    with_nvcc = compiler is CudaCompiler.NVCC
    for said in (text, script):
        assert ("nvcc.compile_cuda(" in said) == with_nvcc and ("nvrtc_log(" in said) == (not with_nvcc)


@pytest.mark.parametrize("source", ["int8_t", "nobody"])
def test_a_script_asks_nvrtc_itself_where_tvm_has_no_bindings_to_it(source: str) -> None:
    toolchain = find_cuda_toolchain()
    if toolchain is None or toolchain.compiler is not CudaCompiler.NVRTC:
        pytest.skip("no NVRTC")
    imports, definitions = nvrtc_source()
    ask = f'print(nvrtc_log("__global__ void f() {{ {source} x; }}", "sm_90"))'
    said = subprocess.run(
        [sys.executable, "-c", "\n".join([*imports, definitions, ask])], capture_output=True, text=True
    )
    assert ("nobody" in said.stdout) == (source == "nobody") and not said.stderr


def test_the_repro_of_a_kernel_gone_wrong_prints_what_the_device_passes_make_of_it(
    tmp_path: Path, seeds: dict[str, Seed]
) -> None:
    case = Case(seeds["handwritten.gpu.two_kernels"].ir, (), ContextConfig(), target_text("cuda"))
    results = Results("defined", optimised=Ran(Ending.UNDEFINED, "race\nread and written by different iterations"))
    finding = judge_inconsistency(case, Observation(Exit.OK, Stage.DONE, results=results))
    assert finding is not None and finding.parts == ("optimised", "undefined", "race")
    script = tmp_path / "repro.py"
    script.write_text(repro_script(finding, Limits(), ""))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("launch_thread") == 2


@pytest.mark.long
def test_run_judges_a_kernel(tzerlike: Command) -> None:
    done = tzerlike("run", KERNELS, "--function", "register_tile", "--target", "cuda", "--json")
    verdict = json.loads(done.stdout)
    assert (done.returncode, verdict["exit"], verdict["reference"]["verdict"]) == (0, "ok", "defined")
    refused = tzerlike("run", KERNELS, "--function", "register_tile", "--target", "cuda", "--arch", "90")
    assert refused.returncode == 2
    assert refused.stderr.strip() == "tzerlike: --arch: '90' is not an architecture like sm_90"


@pytest.mark.long
def test_a_campaign_on_cuda_finds_its_seeds_and_reaches_code_generation(tzerlike: Command, tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    done = tzerlike(
        "fuzz", "--target", "cuda", "--arch", "sm_80", "--iterations", 12, "--seed", 3, "--jobs", 1, "--ui", "none",
        "--out", out,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    stats = json.loads((out / "stats.json").read_text())
    assert stats["valid_rate"] > 0.5
    assert stats["corpus"] > 0
    for path in (out / "corpus").iterdir():
        assert json.loads(json.loads(path.read_text())["case"]["target"]) == {"kind": "cuda", "arch": "sm_80"}


def test_doctor_says_what_is_possible(tzerlike: Command) -> None:
    checks = {check["name"]: check for check in json.loads(tzerlike("doctor", "--json").stdout)}
    assert checks["cuda compiler"]["good"] == (find_cuda_toolchain() is not None)
    assert not checks["cuda compiler"]["needed"] and not checks["cuda device"]["needed"]
    assert checks["cuda device"]["seen"]


QUOTIENT = 'extern "C" __global__ void k(float* a) { a[0] = a[1] / a[3]; }'


def compilers() -> list[CudaToolchain]:
    nvcc = shutil.which("nvcc")
    of_path = CudaToolchain(CudaCompiler.NVCC, Path(nvcc)) if nvcc else None
    return [toolchain for toolchain in (find_cuda_toolchain(), of_path) if toolchain is not None]


@needs_compiler
@pytest.mark.parametrize("toolchain", compilers(), ids=lambda toolchain: toolchain.compiler.value)
def test_kernels_are_compiled_to_divide_exactly(toolchain: CudaToolchain) -> None:
    """Under --use_fast_math, as TVM compiles, a quotient is the product with an approximate reciprocal."""
    code = machine_code(toolchain, QUOTIENT, "sm_90")
    assert code.startswith(b"\x7fELF")
    assert b"div" in code
    with pytest.raises(SourceRefused, match="error"):
        machine_code(toolchain, QUOTIENT.replace("a[3]", "b"), "sm_90")


OF_THE_DRIVER = [
    "cuDeviceGetName",
    "cuFuncSetAttribute",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuLaunchKernelEx",
    "cuModuleGetFunction",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuTensorMapEncodeTiled",
]
"""What TVM's CUDA runtime takes of libcuda.so.1, which a machine with a GPU has."""


@pytest.mark.skipif(
    not any(list((Path(place) / "nvidia").glob("*/lib/libcudart.so.13")) for place in sys.path),
    reason="no CUDA runtime of pip: pip install 'tzerlike[cuda]'",
)
def test_source_is_generated_alone_where_a_driver_is_installed(tzerlike: Command, tmp_path: Path) -> None:
    """TVM would compile it at once, which a confined child may not do; every kernel ended so where there is a GPU."""
    source = tmp_path / "driver.c"
    source.write_text("".join(f"int {name}(void) {{ return 100; }}\n" for name in OF_THE_DRIVER))
    library = tmp_path / "libcuda.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", f"-Wl,-soname,{library.name}", "-o", library, source], check=True)
    runtimes = [path.parent for place in sys.path for path in (Path(place) / "nvidia").glob("*/lib/libcudart.so.13")]
    found = os.pathsep.join(map(str, [tmp_path, runtimes[0]]))
    loads = "import tvm_ffi, tvm; assert tvm_ffi.get_global_func('ffi.Module.create.cuda')"
    subprocess.run([sys.executable, "-c", loads], env=environment(LD_LIBRARY_PATH=found), check=True)
    done = tzerlike("run", KERNELS, "--function", "two_kernels", "--target", "cuda", LD_LIBRARY_PATH=found)
    assert (done.returncode, done.stdout) == (0, "ok in done\ninterpreter: defined\n"), done.stderr
