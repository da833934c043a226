"""Load mutated bundles: each has to load, or to be refused in one line, in bounded time and memory.

    python scripts/fuzz_bundles.py [NUMBER [BUNDLE...]]

Mutates bundles of every kind (generated here, and the BUNDLEs given) NUMBER times (default: 10,000): their JSON as
trees and as bytes, their archives, and the types of their files. Only the loader runs, in this process. Exits 1 if
anything but a UserError escapes, if one takes too long, or if the content of a bundle is executed.
"""

from __future__ import annotations

import io
import json
import os
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import numpy

from tzerlike.arith.case import ArithCase
from tzerlike.arith.model import Expr, Problem, Variable
from tzerlike.core.archive import no_arrays, read_arrays
from tzerlike.core.case import Case, ContextConfig, PassSpec, Provenance
from tzerlike.core.errors import UserError
from tzerlike.core.finding import Finding, Signed
from tzerlike.core.limits import Limits
from tzerlike.core.mutation import Mutation
from tzerlike.core.observation import Exit, Frame, Observation, Offence, Stage
from tzerlike.core.results import Difference, Ending, Ran, Rejection, Results, Timing
from tzerlike.core.storage import json_text
from tzerlike.core.stored import StoredCase
from tzerlike.core.untrusted import FILE_BYTES, one_line
from tzerlike.findings.bundles.bundle import Confirmation, observation_text
from tzerlike.findings.replay import load_bundle

SECONDS = 10.0
"""Processor time of one load at most; what a file at every bound takes, with room for a slow machine."""

MEMORY = 1 << 30
"""Bytes that loading may take beyond what this process had."""

Files = dict[str, bytes]
EXECUTED: list[str] = []
"""What a bundle managed to run: it has to stay empty."""


class TooLong(BaseException):
    """A load takes longer than any may; no handler of the loader's is to take it for its own."""


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TooLong


def executed() -> str:
    EXECUTED.append("unpickled")
    return ""


class Payload:
    """An object whose unpickling calls `executed`."""

    def __reduce__(self) -> tuple[Callable[[], str], tuple[()]]:
        return executed, ()


def samples() -> dict[str, Files]:
    """Return a small bundle of every kind."""
    case = Case(
        '{"root_index":1,"nodes":[]}',
        (PassSpec("tirx.UnrollLoop", (("auto_max_step", 16),)),),
        ContextConfig(4, (("tirx.disable_assert", True),), ("tirx.StorageRewrite",)),
    )
    died = Observation(
        Exit.CRASH, Stage.BUILD, "SIGSEGV", "tirx.X", 11, (Frame("f", "libtvm"),), 7, False, "", 0.5, {"load": 0.1}
    )
    difference = Difference(2, "B", "float32", (1, 2), "1.0", "0.0", "2.0", 1, 4, "value")
    results = Results(
        "defined",
        "",
        "",
        12,
        "small",
        1,
        False,
        Ran(Ending.AGREES),
        Ran(Ending.DIFFERS, "", difference),
        "StorageRewrite",
    )
    wrong = Observation(Exit.OK, Stage.DONE, results=results)
    slow = replace(wrong, results=replace(results, optimised=Ran(), timing=Timing((1.0, 2.0), (3.0, 4.0), 1.1)))
    refused = Observation(
        Exit.REJECTED, Stage.PASSES, "InternalError", rejection=Rejection("internal-error", True, "defined")
    )
    offending = Observation(Exit.OK, Stage.DONE, offences=(Offence("types", "tirx.A", "call", "tirx.exp of nothing"),))
    mutated = Observation(Exit.CRASH, Stage.MUTATE, "SIGSEGV", "schedule-loops", 11)
    coordinates = {"mutation": Mutation(1, 0, 17, 0, "schedule-loops", "a" * 64).to_json()}
    archive = io.BytesIO()
    numpy.savez_compressed(
        archive,
        argument0=numpy.arange(6, dtype=numpy.int64).reshape(2, 3),
        argument1=numpy.float64(2.5),
        argument2=numpy.zeros((4,), numpy.bool_),
        scheme=numpy.array("small"),
        expected0=numpy.ones((2, 3)),
        bound0=numpy.zeros((2, 3)),
    )
    x = Expr("Var", "int32", (), "x")
    sum_ = Expr("Add", "int32", (x, Expr("Mul", "int32", (x, Expr("IntImm", "int32", (), 3)))))
    told = Expr("LT", "bool", (x, Expr("IntImm", "int32", (), 2)))
    problem = Problem((Variable("x", "int32", (0, 1, 2)),), (sum_,), (told,))
    arith = ArithCase("rewrite_simplify", problem, 7, 0, 99)
    oracles = {"oracles": ["crash", "inconsistency"], "tvm": "0.27.0"}

    def tir(kind: str, seen: Observation, environment: Mapping[str, Any], inputs: bytes) -> Files:
        stored = StoredCase(case, Provenance("seed", "b" * 64, "constants", 1, 17, 3))
        finding = Finding(kind, ("passes", "X", "SIGSEGV"), case, seen)
        return {
            "case.json": json_text({"schema_version": 1, **stored.to_json()}).encode(),
            "observation.json": observation_text(finding, seen, Limits(), Confirmation(2, 2), environment).encode(),
            "inputs.npz": inputs,
        }

    signed = Signed("wrong-code", ("rewrite_simplify", "shape"))
    arith_seen = Observation(Exit.OK, Stage.ANALYZE, "claims", "rewrite_simplify")
    return {
        "crash": tir("crash", died, oracles, no_arrays()),
        "wrong-code": tir("wrong-code", wrong, oracles, archive.getvalue()),
        "slow-code": tir("slow-code", slow, oracles, archive.getvalue()),
        "ice-on-valid": tir("ice-on-valid", refused, oracles, no_arrays()),
        "invalid-ir": tir("invalid-ir", offending, oracles, no_arrays()),
        "mutation": tir("crash", mutated, coordinates, no_arrays()),
        "arith": {
            "case.json": json_text(arith.to_json()).encode(),
            "observation.json": observation_text(signed, arith_seen, Limits(), Confirmation(2, 2), oracles).encode(),
            "inputs.npz": no_arrays(),
        },
    }


# Texts that stand for themselves in the JSON, since no Python value gives them.
_RAW = (
    "NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" * 4000, "-" + "9" * 5000, "1E400000000", "-0",
    "0.1e-9999999",
        '"\\ud800"', '"\\udfff\\ud800"', '"\\u0000"', '"\\u001b[2J"', '"\\n"', '{"a":1,"a":2}', '{"schema_version":1}',
    "[" * 200 + "]" * 200, "[" * 100_000, '{"a":' * 500 + "1" + "}" * 500, "[" + "0," * 100_000 + "0]",
    "truth", "'x'", "", "// x", "[1,]", "\ufeff1", "9223372036854775808", "18446744073709551616", "1.5", '"x"', "[[]]",
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63 - 1, -(2**63), 0.5, -1e300, "", "x", "../../etc/passwd", "\u2028",
    "\U0001f600", "x" * 5000, [], {}, [[]], [{}], [None] * 3, {"": None}, ["a", 1],
    "crash", "mutate", "int32", "bool", "Var", "Add",
)  # fmt: skip


def _spots(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each place in a tree of JSON: its container and key."""
    if isinstance(tree, dict | list):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            yield tree, key
            yield from _spots(tree[key])


def _tree_mutant(data: bytes, rng: Random) -> bytes:
    try:
        root = [json.loads(data)]
    except (ValueError, RecursionError):
        return data
    raw: list[str] = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        spots = list(_spots(root))
        place, key = rng.choice(spots)
        other, other_key = rng.choice(spots)
        match rng.randrange(8):
            case 0 | 1:
                place[key] = rng.choice(_VALUES)
            case 2 | 3:
                place[key] = f"@raw{len(raw)}@"
                raw.append(rng.choice(_RAW))
            case 4 if isinstance(place, dict):
                del place[key]
            case 5:
                place[key] = json.loads(json.dumps(other[other_key]))
            case 6 if isinstance(place[key], list) and len(json.dumps(place[key])) < 300:
                place[key] = place[key] * rng.choice((2, 100, 3000))
            case 7 if isinstance(place, dict):
                place[rng.choice(("", "x", "results", "harness", "mutation", "\n"))] = json.loads(
                    json.dumps(place[key])
                )
            case _:
                place[key] = [place[key]]
        text = json.dumps(root)
        if len(text) > 1 << 20:
            break
        # What stands in two places is two things from here on.
        root = json.loads(text)
    text = json.dumps(root[0], ensure_ascii=rng.random() < 0.5)
    for index, token in enumerate(raw):
        text = text.replace(f'"@raw{index}@"', token)
    return text.encode(errors="surrogatepass")


def _byte_mutant(data: bytes, rng: Random) -> bytes:
    body = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(len(body) + 1)
        to = min(len(body), at + rng.choice((1, 2, 8, 100)))
        match rng.randrange(7):
            case 0:
                del body[at:]
            case 1:
                del body[at:to]
            case 2:
                body[at:to] = rng.randbytes(to - at)
            case 3:
                body[at:at] = body[at:to] * rng.choice((1, 10, 1000))
            case 4:
                body[at:at] = rng.choice((b"[", b"{", b'"', b"\\", b",", b"\0", b"\xff", b"\xef\xbb\xbf", b"PK\5\6"))
            case 5 if at < len(body):
                body[at] ^= 1 << rng.randrange(8)
            case _:
                body[at:to] = struct.pack("<I", rng.choice((0, 1, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF)))
    return bytes(body)


def _array_bytes(array: numpy.ndarray[Any, Any]) -> bytes:
    buffer = io.BytesIO()
    # Pickled on purpose, where it has objects: the loader is to be seen to refuse that.
    numpy.lib.format.write_array(buffer, array, allow_pickle=True)
    return buffer.getvalue()


_HEADERS = (
    "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 99999999999, 99999999999), }",
    "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }",
    "{'descr': '<U999', 'fortran_order': False, 'shape': (9,), }",
    "__import__('os').abort()",
    "(" * 4000,
    "-" * 4000 + "1",
    "{'descr': '<c16', 'fortran_order': True, 'shape': (), }",
    "{'descr': '<f8', 'fortran_order': 2, 'shape': (1)}",
)


def _archive_mutant(data: bytes, rng: Random) -> bytes:
    buffer = io.BytesIO()
    method = rng.choices((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA), (9, 9, 1))[0]
    with zipfile.ZipFile(buffer, "w", method) as archive:
        with zipfile.ZipFile(io.BytesIO(data)) as old:
            members = [(name, old.read(name)) for name in old.namelist()]
        header = rng.choice(_HEADERS).encode() + b"\n"
        bomb = b"" if rng.random() < 0.99 else _array_bytes(numpy.zeros(1 << rng.choice((16, 22))))
        extra = {
            0: ("argument0.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(64)),
            1: ("argument0.npy", _array_bytes(numpy.array([Payload()], object))),
            2: ("payload.npy", _array_bytes(numpy.array(Payload(), object))),
            3: ("bomb.npy", bomb),
            4: ("../../x.npy", b""),
            5: ("argument0.npy", b"\x93NUMPY\x03\x00\xff\xff\xff\xff"),
            6: ("argument0.npy", _array_bytes(numpy.array(["text"] * 3))),
            7: ("argument0.npy", _array_bytes(numpy.asfortranarray(numpy.eye(3)))),
        }[rng.randrange(8)]
        members = [extra if rng.random() < 0.3 and member[0] == extra[0] else member for member in members] + [extra]
        rng.shuffle(members)
        written: set[str] = set()
        for name, content in members[: rng.choice((1, 3, 99))]:
            if name not in written or rng.random() < 0.01:
                written.add(name)
                archive.writestr(name, _byte_mutant(content, rng) if rng.random() < 0.2 else content)
        if rng.random() < 0.01:
            for index in range(2000):
                archive.writestr(f"argument{index}.npy", b"")
    out = bytearray(buffer.getvalue())
    if rng.random() < 0.5:
        # What the directory says of sizes, methods and flags need not be true.
        at = out.rfind(b"PK\x01\x02")
        offset, kind = rng.choice(((8, "<H"), (10, "<H"), (20, "<I"), (24, "<I"), (28, "<H"), (42, "<I")))
        if at >= 0:
            struct.pack_into(kind, out, at + offset, rng.choice((0, 1, 9, 0x0FFF, 0xFFFF)))
    return bytes(out)


def _huge(rng: Random) -> bytes:
    """A file near the bounds of the loader."""
    size = FILE_BYTES + rng.choice((-1000, 1))
    text = rng.choice((b"[", b"[],", b'"",', b'"\\"', b"9", b" ", b'"x', b"\\", b'{"a":0},', "\U0001f600".encode()))
    return b'["' * (rng.random() < 0.5) + text * (size // len(text))


def mutant(files: Files, rng: Random, huge: bool) -> Files:
    """Return a bundle's files with one or two of them mutated."""
    out = dict(files)
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(sorted(out))
        kind = rng.random()
        if huge and kind < 0.0005:
            return out | {name: _huge(rng)}
        elif name == "inputs.npz" and kind < 0.7:
            out[name] = _archive_mutant(files[name], rng)
        elif name == "inputs.npz" or kind < 0.25:
            out[name] = _byte_mutant(out[name], rng)
        elif kind < 0.98:
            out[name] = _tree_mutant(out[name], rng)
        else:
            out[name] = b""
    return out


def put_something_else(path: Path, rng: Random) -> None:
    """Put something in place of a file or directory that nobody must wait for, follow or read to its end."""
    content = path.read_bytes() if path.is_file() else b"{}"
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    match rng.randrange(9):
        case 0:
            path.symlink_to("/dev/zero")
        case 1:
            path.symlink_to("/etc/passwd")
        case 2:
            path.symlink_to(path)
        case 3:
            os.mkfifo(path)
        case 4:
            path.mkdir()
        case 5:
            with path.open("wb") as file:
                file.write(content)
                file.truncate(1 << 36)
        case 6:
            other = path.with_name("real")
            other.write_bytes(content)
            path.symlink_to(other)
        case 7:
            path.symlink_to(path.parent.parent.parent.parent / "outside")
        case _:
            pass


@dataclass
class Tally:
    """What the fuzzing came to."""

    loaded: int = 0
    slowest: float = 0.0
    refused: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def load_everything(path: Path) -> None:
    """Read all of a bundle that tzerlike ever reads."""
    load_bundle(path)
    read_arrays(path / "inputs.npz")


def try_one(place: Path, bundles: Mapping[str, Files], seed: int, tally: Tally, huge: bool) -> None:
    """Load one mutant under `place`, an empty directory's path; note in `tally` what became of it."""
    rng = Random(seed)
    kind = rng.choice(sorted(bundles))
    place.mkdir()
    for name, content in mutant(bundles[kind], rng, huge).items():
        (place / name).write_bytes(content)
    if rng.random() < 0.02:
        put_something_else(place / rng.choice(("case.json", "observation.json", "inputs.npz")), rng)
    began = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        load_everything(place)
        tally.loaded += 1
    except UserError as error:
        message = str(error)
        shown = one_line(message)
        if not shown.isprintable() or len(shown) > 1100 or str(place) not in message:
            tally.faults.append(f"{seed} ({kind}): a message of {len(message)} characters: {shown[:300]}")
        tally.refused[_shape(message.removeprefix(str(place)))] += 1
    except (Exception, TooLong):  # noqa: BLE001 - whatever escapes is what is looked for
        tally.faults.append(f"{seed} ({kind}): {traceback.format_exc()}")
    signal.setitimer(signal.ITIMER_PROF, 0)
    spent = time.process_time() - began
    tally.slowest = max(tally.slowest, spent)
    if EXECUTED:
        tally.faults.append(f"{seed} ({kind}): executed")
        EXECUTED.clear()
    shutil.rmtree(place)


def _shape(message: str) -> str:
    return " ".join(word for word in message.split()[:5] if word.isascii() and len(word) < 30)


def fuzz(number: int, bundles: Mapping[str, Files], start: int = 0, *, huge: bool = True) -> Tally:
    """Load `number` mutants of `bundles`."""
    tally = Tally()
    warnings.filterwarnings("ignore", "Duplicate name", UserWarning)
    before = signal.signal(signal.SIGPROF, _too_long)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as scratch:
        for name, files in bundles.items():
            whole = Path(scratch) / f"whole-{len(name)}"
            whole.mkdir(exist_ok=True)
            for file, content in files.items():
                (whole / file).write_bytes(content)
            load_everything(whole)
        for seed in range(start, start + number):
            try_one(Path(scratch) / "bundle", bundles, seed, tally, huge)
            if len(tally.faults) >= 20:
                break
    signal.signal(signal.SIGPROF, before)
    return tally


def _read(path: Path) -> Files:
    return {name: (path / name).read_bytes() for name in ("case.json", "observation.json", "inputs.npz")}


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    bundles = samples() | {str(path): _read(path) for path in map(Path, sys.argv[2:])}
    with open("/proc/self/statm") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, mapped + MEMORY))
    began = time.monotonic()
    tally = fuzz(number, bundles)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    for fault in tally.faults:
        print(fault)
    print(f"{number} mutants of {len(bundles)} bundles: {tally.loaded} load, {tally.refused.total()} are refused")
    print(f"{len(tally.faults)} faults; slowest {tally.slowest:.2f} s of processor time; {peak} MiB at most")
    print(f"{len(tally.refused)} kinds of refusal in {time.monotonic() - began:.0f} s; the most frequent:")
    for message, count in tally.refused.most_common(12):
        print(f"  {count:6}  {message}")
    sys.exit(1 if tally.faults else 0)


if __name__ == "__main__":
    main()
