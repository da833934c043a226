"""Compiling with TVM for a target, and running the result; programs and their text are in `tvm_api`.

Everything here acts on live TVM objects.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tzerlike.core.targets import DEFAULT_ARCH, target_options
from tzerlike.systems.tvm_api import ENTRY, LLVM_VERSION, entry_of, module_of, tirx, tvm, tvm_ffi


def target_of(text: str) -> Any:
    """Return the TVM target that a case names: a kind (`llvm`) or a JSON object, with its host set.

    A cuda target without an architecture gets the default one, since TVM would start CUDA to ask a device. The host's
    part of a kernel is compiled without LLVM's optimiser, which takes most of the time and sees no kernel. A TVM
    without LLVM makes C source of what is for the CPU.
    """
    description = target_options(text)
    if description["kind"] == "cuda":
        description.setdefault("arch", DEFAULT_ARCH)
        return tvm.target.Target(description).with_host(tvm.target.Target(_for_cpu({"kind": "llvm", "opt-level": 0})))
    target = tvm.target.Target(_for_cpu(description))
    return target.with_host(target)


def _for_cpu(description: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "c"} if LLVM_VERSION is None else description


def compile_cuda_with(compiler: Callable[[str], bytes]) -> None:
    """Have `build` make machine code of CUDA source with `compiler`, in this process and in those forked from it.

    Where the driver of a GPU is installed, TVM compiles source as soon as it is generated, with nvcc as a program or by
    the package cuda-bindings (tvm/support/nvcc.py). b"" is code for who only reads the source.
    """
    tvm_ffi.register_global_func("tvm_callback_cuda_compile", compiler, override=True)


def without_target(module: Any) -> Any:
    """Return the module of the entry alone, without what `bind_target` gave it; KeyError when there is none."""
    return module_of(entry_of(module).without_attr("target"))


def bind_target(module: Any, target: Any) -> Any:
    """Give every function of `module` its target, as tirx.build does before anything else."""
    return tirx.transform.BindTarget(target)(module)


@dataclass(frozen=True, slots=True)
class Built:
    """What `build` made: an executable, and the modules that its host's and its devices' code was generated from."""

    executable: Any
    host: Any
    devices: tuple[Any, ...] = ()


def build(module: Any, target: Any, pipeline: str = "default") -> Built:
    """Compile under the current PassContext, step by step as `tvm.compile` does.

    With the pipeline "default" the target's own lowering pipeline runs first. With "none" `module` is what such
    a pipeline leaves, and only the rest of `tirx.build` runs: splitting, host and device finalisation, code generation.
    With "tiles" it is what TileLang's lowering leaves, and its source for the device is generated.
    """
    if pipeline == "tiles":
        return _tile_source(module, target)
    driver = importlib.import_module("tvm.tirx.build")
    lowering, finalize_host, finalize_device = pipeline_parts(tirx.get_default_tir_pipeline(target))
    if pipeline == "default":
        module = lowering(bind_target(module, target))
    host, devices = driver.split_host_device_mods(module)
    host = finalize_host()(host)
    devices = {kind: finalize_device()(device) for kind, device in devices.items()}
    compiled = driver.tir_to_runtime(host, devices, target.host or target)
    return Built(tvm.runtime.Executable(compiled), host, tuple(devices.values()))


_PACKED_FUNCTION, _DEVICE_KERNEL = 1, 2
"""The calling conventions of a function that takes packed arguments, and of one that is launched on a device."""


def _tile_source(module: Any, target: Any) -> Built:
    """Generate the source of a kernel as TileLang's driver does, and compile nothing.

    Its pass HoistBroadcastValues is in Python, which needs torch, and is left out.
    """
    on_host = target.kind.name == "c"

    def for_device(func: Any) -> bool:
        convention = int((func.attrs or {}).get("calling_conv", 0))
        return convention == _DEVICE_KERNEL or (on_host and convention != _PACKED_FUNCTION)

    device = tirx.transform.Filter(for_device)(module)
    device = tvm.get_global_func("tl.transform.LowerIntrin")()(device)
    device = tirx.transform.Simplify()(device)
    suffix = "c" if on_host else f"{target.kind.name}_without_compile"
    made = tvm.get_global_func(f"target.build.tilelang_{suffix}")(device, target)
    return Built(tvm.runtime.Executable(made), module, (device,))


def pipeline_factories() -> tuple[Any, Mapping[str, Any]]:
    """Return the function that chooses a target's lowering pipeline, and the pipelines' factories by name."""
    home: Any = getattr(tirx, "compilation_pipeline", None) or tirx.pipeline
    return tirx.get_default_tir_pipeline, home.PIPELINE_MAP


def pipeline_parts(made: Any) -> tuple[Any, Any, Any]:
    """Return what a factory made as the lowering pass and the functions that make the host's and the device's passes.

    Up to 0.25.dev0 a factory makes the first alone, and the others are the same for all targets.
    """
    if isinstance(made, tuple):
        lowering, host, device = made
        return lowering, host, device
    return made, tirx.pipeline.finalize_host_passes, tirx.pipeline.finalize_device_passes


@cache
def pipeline_parts_source() -> str:
    """Return the line of a script that gets at the last two of `pipeline_parts` for its `target`."""
    if isinstance(tirx.get_default_tir_pipeline(target_of("llvm")), tuple):
        return "_, finalize_host, finalize_device = tirx.get_default_tir_pipeline(target)"
    made = "tirx.pipeline.finalize_host_passes, tirx.pipeline.finalize_device_passes"
    return f"finalize_host, finalize_device = {made}"


def tensor_over(memory: Any, shape: Sequence[int], dtype: str, *, strided: bool = False) -> Any:
    """Return a CPU tensor that shares `memory`, which has to live on: bytes, or `strided` elements."""
    tensor = tvm_ffi.from_dlpack(memory)
    return tensor if strided else tensor._create_view(tuple(shape), dtype)


def device_of(kind: str) -> Any:
    """Return the first device for a kind of target, cuda or llvm; to look at it starts CUDA in this process."""
    return tvm.device("cpu" if kind == "llvm" else kind, 0)


def tensor_on(device: Any, body: Any, shape: Sequence[int], dtype: str) -> tuple[Any, Any]:
    """Copy the bytes of a compact buffer to a device; returns the tensor, and the bytes below it to copy back from."""
    memory = tvm.runtime.tensor(body, device)
    return memory._create_view(tuple(shape), dtype), memory


def seconds_of_runs(built: Built, device: Any, arguments: Sequence[Any], runs: int) -> list[float]:
    """Time `runs` runs of `main` by the device's own clock, which for cuda is its events; one more run comes first."""
    evaluator = built.executable.jit().time_evaluator(ENTRY, device, number=1, repeat=runs)
    return [float(value) for value in evaluator(*arguments).results]


def cuda_sources(module: Any) -> list[str]:
    """Return the CUDA source of each device module below one of TVM's runtime; no CUDA compiler is asked for it."""
    own = [str(module.inspect_source())] if module.kind == "cuda" else []
    return own + [source for below in module.imports for source in cuda_sources(below)]


def compiled_main(built: Built) -> Callable[..., Any]:
    """Return the compiled `main` of what `build` returned; this generates the machine code and loads it.

    Only `tzerlike.tir.allowlist.native` may, once it has looked at the program.
    """
    function: Callable[..., Any] = built.executable[ENTRY]
    return function
