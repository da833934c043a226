"""How a source is compiled: everything that determines the result, and a name for it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from tzerlike.systems import TVM
from tzerlike.systems.builds.source import KNOWN, Source
from tzerlike.systems.builds.tools import Toolchain

CMAKE_TARGETS = ("tvm_runtime", "tvm_compiler")

_FLAGS = ("-O1", "-g1", "-fsanitize-coverage=inline-bool-flag,pc-table")
_SANITIZER = ("-fsanitize=address", "-fno-omit-frame-pointer")
_SANITIZER_OPTIONS = (
    "abort_on_error=1",
    "detect_leaks=0",
    # Signals are recorded by memcov, and their frames named by whoever reads the report.
    "handle_segv=0",
    "handle_sigbus=0",
    "handle_sigfpe=0",
    "handle_sigill=0",
    "handle_abort=0",
    "symbolize=0",
    "print_legend=0",
    # LLVM's own libraries are not instrumented, and share containers with those that are.
    "detect_container_overflow=0",
    "detect_odr_violation=0",
    "alloc_dealloc_mismatch=0",
    "allocator_may_return_null=1",
    "quarantine_size_mb=32",
)
_BATCH = 8
_ALONE = {
    KNOWN.identity: (
        "src/topi/*.cc",
        "src/relax/analysis/layout_transformation.cc",
        "src/relax/transform/remove_unused_parameters.cc",
        "src/relax/transform/reorder_take_after_matmul.cc",
        "src/runtime/vm/hexagon/builtin.cc",
        "src/s_tir/meta_schedule/schedule/cuda/winograd.cc",
        "src/s_tir/transform/hoist_expression.cc",
        "src/s_tir/transform/inject_virtual_thread.cc",
    )
}
"""Sources that do not compile in one piece with others, for the trees of which it is known. Others are compiled file by
file. Batches follow the list of files: a change here compiles nearly everything anew."""


@dataclass(frozen=True, slots=True)
class BuildRecipe:
    """`sanitized` says that AddressSanitizer watches every access to memory."""

    source: Source
    tools: Toolchain
    sanitized: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        return (*_FLAGS, *_SANITIZER) if self.sanitized else _FLAGS

    @property
    def variables(self) -> dict[str, str]:
        """What the environment of a process has to hold for it to load the libraries of this build."""
        if not self.sanitized:
            return {}
        return {"LD_PRELOAD": self.tools.sanitizer_runtime(), "ASAN_OPTIONS": ":".join(_SANITIZER_OPTIONS)}

    @property
    def key(self) -> str:
        """A name for what comes out: of the source, the flags and the compiler."""
        text = "\n".join((self.source.identity, self.tools.version, *self.flags))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def in_batches(self) -> bool:
        return self.source.identity in _ALONE

    def batches(self) -> str:
        """Return a CMake file that keeps apart what does not compile in batches."""
        patterns = "\n".join(f"     ${{CMAKE_SOURCE_DIR}}/{pattern}" for pattern in _ALONE[self.source.identity])
        return (
            f"file(GLOB alone\n{patterns})\n"
            "set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)\n"
        )

    def configure(self, build: Path, hooks: Path, script: Path, batches: Path) -> list[str]:
        """Return the CMake command; `hooks` and `script` are what memcov has linked into each library."""
        # As in the wheels: no message says where the source was.
        prefix = TVM.code.sources.rstrip("/")
        flags = " ".join((*self.flags, f"-ffile-prefix-map={self.source.directory}={prefix}"))
        settings = {
            "CMAKE_BUILD_TYPE": "None",  # or CMake's own -O3 would come last, and win
            "CMAKE_C_COMPILER": self.tools.clang.replace("clang++", "clang"),
            "CMAKE_CXX_COMPILER": self.tools.clang,
            "CMAKE_C_FLAGS": flags,
            "CMAKE_CXX_FLAGS": flags,
            "CMAKE_SHARED_LINKER_FLAGS": f"-fuse-ld=lld {hooks} -Wl,-T,{script}",
            "USE_LLVM": f"{self.tools.llvm_config} --link-shared",
            "USE_CUDA": "OFF",
            "BUILD_DUMMY_LIBTVM": "ON",
            "USE_GTEST": "OFF",
            "USE_CCACHE": "OFF",
            "USE_ALTERNATIVE_LINKER": "OFF",
        }
        if self.in_batches:
            settings |= {
                "CMAKE_UNITY_BUILD": "ON",
                "CMAKE_UNITY_BUILD_BATCH_SIZE": str(_BATCH),
                "CMAKE_PROJECT_tvm_INCLUDE": str(batches),
            }
        arguments = [f"-D{name}={value}" for name, value in settings.items()]
        return ["cmake", "-G", "Ninja", "-S", str(self.source.directory), "-B", str(build), *arguments]
