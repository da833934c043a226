"""CUDA source offered to NVRTC through ctypes, as tests and scripts of refused source do: they have a copy of this.

TVM's own `nvcc.compile_cuda` takes the package cuda-bindings and the headers of an installed toolkit; those of NVIDIA's
packages for pip lie elsewhere.
"""

import ctypes
import glob
import sys

from tzerlike.execution.cuda.nvrtc import PREAMBLE


def nvrtc_log(source: str, arch: str) -> str | None:
    """What NVRTC says of CUDA source that it refuses, "" where it takes it; None without NVRTC.

    It is that of a toolkit, or of pip: nvidia-cuda-nvrtc, nvidia-cuda-runtime, nvidia-cuda-cccl, nvidia-cuda-crt.
    """
    toolkits = [glob.glob("/usr/local/cuda"), *(glob.glob(f"{path}/nvidia/cu*") for path in sys.path)]
    for homes in toolkits:
        libraries = sorted(library for home in homes for library in glob.glob(f"{home}/lib*/libnvrtc.so*"))
        if libraries and any(glob.glob(f"{home}/include/cuda_fp16.h") for home in homes):
            break
    else:
        return None
    nvrtc, program, size = ctypes.CDLL(libraries[-1]), ctypes.c_void_p(), ctypes.c_size_t()
    includes = [f"-I{home}/include{part}" for home in homes for part in ("", "/cccl")]
    silence = [f"-D__NV_SILENCE_{what}DEPRECATION_{end}=" for what in ("", "HOST_") for end in ("BEGIN", "END")]
    flags = (f"--gpu-architecture={arch}", "-default-device", "--device-int128", "-w", *silence, *includes)
    options = [flag.encode() for flag in flags]
    text = (PREAMBLE + source).encode()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"kernels.cu", 0, None, None)
    if nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)) != 6:
        return ""  # 6 is NVRTC_ERROR_COMPILATION
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    return log.value.decode()
