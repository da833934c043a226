"""memcov's decoder of x86 instructions against others."""

import ctypes
import importlib.util
import itertools
import mmap
import subprocess
from pathlib import Path

import pytest

from tzerlike import coverage
from tzerlike.core.package import MEMCOV
from tzerlike.coverage import native
from tzerlike.systems import TVM

pytestmark = pytest.mark.skipif(not MEMCOV.exists(), reason="libmemcov.so has not been built")


def lengths_disagree(code: bytes | mmap.mmap, start: int, end: int) -> list[str]:
    """Return where capstone and our decoder differ in sweeping code[start:end]."""
    capstone = pytest.importorskip("capstone")
    disassembler = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    length = native.load_memcov().memcov_instruction_length
    buffer = ctypes.create_string_buffer(code[start:end], end - start)
    memory = ctypes.addressof(buffer)
    wrong, at = [], 0
    for address, size, mnemonic, operands in disassembler.disasm_lite(buffer.raw, 0):
        ours = length(ctypes.c_void_p(memory + address), ctypes.c_size_t(end - start - address))
        if ours != size:
            wrong.append(f"{start + address:x}: {mnemonic} {operands}: {size}, not {ours}")
        at = address + size
    assert at == end - start, "capstone stopped early"
    return wrong


def test_decoder_agrees_with_capstone_on_itself_and_the_fixture(path: Path) -> None:
    for library in (path, MEMCOV):
        code = library.read_bytes()
        found = coverage.find_chains(library, None)[0]
        # Text lies where its addresses say, or the first block would not be decodable.
        assert lengths_disagree(code, int(found[0]), int(found[-1])) == []


def test_decoder_agrees_with_capstone_on_tvm() -> None:
    spec = importlib.util.find_spec("tvm")
    library = Path(spec.origin or "").parent / "lib" / "libtvm_compiler.so" if spec else None
    if library is None or not library.exists():
        pytest.skip("no TVM wheel here")
    found = coverage.find_chains(library, TVM.code.sources)[0]
    assert len(found) > 1_000_000
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as code:
        for i in range(0, len(found) - 200, len(found) // 100):
            # From block to block: gaps between functions would not decode.
            for start, end in itertools.pairwise(found[i : i + 200 : 10].tolist()):
                if end - start < 4096:
                    assert lengths_disagree(code, start, end) == []


def test_decoder_agrees_with_capstone_on_vector_code(tmp_path: Path) -> None:
    source = tmp_path / "vector.cc"
    source.write_text(
        "#include <immintrin.h>\n"
        'extern "C" void f(float *a, double *b, int *c, long n) {\n'
        "for (long i = 0; i < n; ++i) { a[i] = a[i] * 3 + c[i]; b[i] = b[i] / a[i]; c[i] ^= (int)b[i] << 3; } }\n"
        'extern "C" __m512i g(__m512i x, __m512i y, __mmask16 m) {\n'
        "return _mm512_mask_shuffle_epi32(_mm512_ternarylogic_epi32(x, y, x, 0x1b), m, y, (_MM_PERM_ENUM)0x4e); }\n"
        'extern "C" __m256i h(__m256i x) { return _mm256_permute4x64_epi64(_mm256_srli_epi16(x, 3), 0x1b); }\n'
        'extern "C" long k(long x, unsigned char y) { return __builtin_popcountl(x) + _pext_u64(x, y) + (y << 7); }\n'
    )
    library = tmp_path / "libvector.so"
    flags = ["-O3", "-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mfma", "-mbmi2", "-mpopcnt", "-fPIC"]
    subprocess.run(["g++", *flags, "-shared", "-o", str(library), str(source)], check=True)
    found = coverage.find_chains(library, None)[0]
    assert lengths_disagree(library.read_bytes(), int(found[0]), int(found[-1])) == []


@pytest.mark.parametrize(
    ("code", "length"),
    [
        ("90", 1),
        ("f30f1efa", 4),  # endbr64
        ("48b88877665544332211", 10),  # movabs
        ("66b83412", 4),
        ("6648b88877665544332211", 11),
        ("66c7003412", 5),
        ("48c7c044332211", 7),
        ("6648e800000000", 7),  # the call of a thread-local access
        ("f6c001", 3),  # test al, 1
        ("f6c801", 3),  # test al, 1 by its other name
        ("f6d8", 2),  # neg al
        ("6648c7c044332211", 8),  # REX.W outdoes 66
        ("f7042544332211aabbccdd", 11),
        ("a08877665544332211", 9),
        ("67a044332211", 6),
        ("c8100001", 4),
        ("660f3a0fc108", 6),  # palignr
        ("c5f877", 3),  # vzeroupper
        ("c4e3fd00c01b", 6),  # vpermq
        ("62f17c48104001", 7),  # vmovups with a compressed displacement
        ("62f3fd4803c107", 7),  # valignq
        ("0f1f8400000000 00", 8),
        ("2e662e0f1f840000000000", 11),
        ("06", 0),  # push es: none in 64-bit mode
        ("62", 0),
        ("0f04", 0),
        ("e800", 0),  # cut off
        ("6666666666666666666666666666666690", 0),  # longer than 15 bytes
    ],
)
def test_instruction_lengths(code: str, length: int) -> None:
    data = bytes.fromhex(code)
    assert native.load_memcov().memcov_instruction_length(data, ctypes.c_size_t(len(data))) == length
