"""NVRTC through ctypes: CUDA source in, the compiler's messages out. Starts no CUDA and needs no GPU.

Most of what compiling takes is reading the headers of the C++ library that generated source includes for the names of
integer types: 1.8 s of processor time on the machine this was measured on, and 0.04 s with headers that have these
names and nothing else. So a source is tried with the short headers first, and what is refused then once more the way
TVM compiles it. Only the second answer counts.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tzerlike.core.errors import TzerlikeError
from tzerlike.execution.cuda.toolchain import CudaToolchain

_SUCCESS, _REFUSED = 0, 6
"""nvrtcResult: NVRTC_SUCCESS and NVRTC_ERROR_COMPILATION."""

_FAST, _PRECISE = "--use_fast_math", "--fmad=false"
"""What TVM compiles kernels with: subnormal numbers are 0 and functions approximate; and that products are rounded."""

_OPTIONS = (
    "-default-device",
    "--device-int128",
    _FAST,
    "-w",
    "-D__NV_SILENCE_DEPRECATION_BEGIN=",
    "-D__NV_SILENCE_DEPRECATION_END=",
    "-D__NV_SILENCE_HOST_DEPRECATION_BEGIN=",
    "-D__NV_SILENCE_HOST_DEPRECATION_END=",
)
"""What TVM gives NVRTC (`tvm/support/nvcc.py`), but for what only tunes code; warnings are off."""

PREAMBLE = """\
#include <cuda/std/cstdint>
#include <cuda/std/limits>
using cuda::std::int8_t; using cuda::std::int16_t; using cuda::std::int32_t; using cuda::std::int64_t;
using cuda::std::uint8_t; using cuda::std::uint16_t; using cuda::std::uint32_t; using cuda::std::uint64_t;
#define __asm__ asm
#define __volatile__ volatile
#define INFINITY (::cuda::std::numeric_limits<float>::infinity())
struct alignas(64) CUtensorMap_st { unsigned long long opaque[16]; };
typedef struct CUtensorMap_st CUtensorMap;
"""
"""The names that source may use and NVRTC does not have by itself, as TVM provides them."""

_SHORT = """\
#ifndef SHORT_HEADERS
#define SHORT_HEADERS
namespace cuda { namespace std {
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
template <class T> struct numeric_limits {
  static __device__ constexpr T infinity() { return __builtin_huge_valf(); }
};
template <class A, class B> struct is_same { static constexpr bool value = false; };
template <class A> struct is_same<A, A> { static constexpr bool value = true; };
template <class A, class B> inline constexpr bool is_same_v = is_same<A, B>::value;
template <class A> struct is_integral;
template <class A> struct is_signed;
template <class A> struct is_unsigned;
template <class A> struct is_floating_point;
template <bool B, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool B, class T, class F> struct conditional { typedef T type; };
template <class T, class F> struct conditional<false, T, F> { typedef F type; };
}}
#endif
"""
_SHORT_HEADERS = ("cuda/std/cstdint", "cuda/std/type_traits", "cuda/std/limits")


def refusal(toolchain: CudaToolchain, source: str, arch: str) -> str | None:
    """Return what NVRTC says where it refuses `source`, or None where it compiles or cannot tell.

    TzerlikeError when the library does not load.
    """
    options = [f"--gpu-architecture={arch}", *_OPTIONS]
    for names in (_SHORT_HEADERS, ()):
        with _compiled(toolchain, source, options, names) as (library, program, result):
            # Anything else says that NVRTC is at fault, or does not know the architecture.
            said = _log(library, program) if result == _REFUSED else None
        if said is None:
            return None
    return said


def cubin(toolchain: CudaToolchain, source: str, arch: str) -> bytes | str:
    """Return the machine code for `source`, without what trades accuracy for speed; or what NVRTC says against it.

    TzerlikeError when the library does not load.
    """
    options = [f"--gpu-architecture={arch}", *(option for option in _OPTIONS if option != _FAST), _PRECISE]
    for names in (_SHORT_HEADERS, ()):
        with _compiled(toolchain, source, options, names) as (library, program, result):
            if result == _SUCCESS:
                size = ctypes.c_size_t()
                library.nvrtcGetCUBINSize(program, ctypes.byref(size))
                code = ctypes.create_string_buffer(size.value)
                library.nvrtcGetCUBIN(program, code)
                return code.raw
            said = _log(library, program) if result == _REFUSED else f"NVRTC ends with error {result}"
    return said


@contextmanager
def _compiled(
    toolchain: CudaToolchain, source: str, options: Sequence[str], names: Sequence[str]
) -> Iterator[tuple[ctypes.CDLL, ctypes.c_void_p, int]]:
    """The library, a program and the nvrtcResult of compiling it, with the short headers for `names`."""
    library = _load(toolchain.path)
    program = ctypes.c_void_p()
    result = library.nvrtcCreateProgram(
        ctypes.byref(program),
        (PREAMBLE + source).encode(),
        b"kernels.cu",
        len(names),
        _texts([_SHORT] * len(names)),
        _texts(names),
    )
    try:
        if result == _SUCCESS:
            ordered = [*options, *(f"-I{path}" for path in toolchain.includes)]
            result = library.nvrtcCompileProgram(program, len(ordered), _texts(ordered))
        yield library, program, result
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


@cache
def _load(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise TzerlikeError(f"{path}: {error}") from error


def _texts(items: Sequence[str]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * len(items))(*(item.encode() for item in items))


def _log(library: ctypes.CDLL, program: ctypes.c_void_p) -> str:
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, text)
    return text.value.decode(errors="replace")
