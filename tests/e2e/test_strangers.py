"""Cases and bundles from a stranger on the real TVM: what they do to it happens in a child, and is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest

from tests.bundles import add_bundle, wrong
from tests.e2e.conftest import CACHE, Command
from tzerlike.core.case import Case, PassSpec, Provenance
from tzerlike.core.errors import UserError
from tzerlike.core.finding import Signed
from tzerlike.core.observation import Stage
from tzerlike.core.storage import write_json
from tzerlike.core.stored import StoredCase
from tzerlike.findings.replay import load_bundle
from tzerlike.findings.versions.host import Guest
from tzerlike.processes.caller import zygote_environment
from tzerlike.processes.client import Client

PROGRAM = """
import json

from tzerlike.systems import tvm_api

func = tvm_api.parse_script('''
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[i] + T.float32(1)
''')
long = tvm_api.parse_script('''
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(300000):
        B[i % 4] = A[i % 4] + T.float32(1)
    T.evaluate(T.call_extern("int32", "system", "COMMAND"))
''')
objects = (tvm_api.module_of(func), func, tvm_api.IRModule({"other": func}), tvm_api.module_of(long))
print(json.dumps([tvm_api.dump_ir(one) for one in objects]))
"""


@pytest.fixture(scope="module")
def irs() -> tuple[str, str, str, str]:
    """The JSON of a module, of its function alone, of a module without `main`, and of one that calls the shell once its
    loop has passed the step budget."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=300)
    module, func, other, shell = json.loads(done.stdout)
    return module, func, other, shell


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with Client(slots=1, coverage="none", cache_dir=CACHE, environment=zygote_environment()) as started:
        yield started


def judge(client: Client, case: Case, place: Path, inputs: Path | None = None) -> dict[str, Any]:
    """The observation of a case; UserError as `tzerlike run` would have it."""
    path = place / "case.json"
    write_json(path, StoredCase(case, Provenance("test")).to_json())
    params = {"path": str(path), "inputs": str(inputs or ""), "oracles": ["crash", "inconsistency"]}
    (answer,) = client.ask("judge-file", {**params, "seconds": 5.0, "memory": 2 << 30})
    observation: dict[str, Any] = answer["observation"]
    return observation


def test_what_is_no_program_is_told_in_a_line(client: Client, irs: tuple[str, str, str, str], tmp_path: Path) -> None:
    module, func, other, _ = irs
    assert judge(client, Case(module), tmp_path)["exit"] == "ok"
    for case, complaint in (
        (Case(func), "not the JSON of an IRModule"),
        (Case(other), "no function 'main'"),
        (Case(module, (PassSpec("tirx.NoSuchPass"),)), "no pass 'tirx.NoSuchPass'"),
        (Case(module, (PassSpec("tirx.UnrollLoop", (("x", 1),)),)), "tirx.UnrollLoop"),
    ):
        with pytest.raises(UserError, match=complaint) as refused:
            judge(client, case, tmp_path)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["", "{}", "[" * 100_000, '{"root_index":9,"nodes":[]}', "\0"], ids=repr)
def test_what_tvm_cannot_load_is_an_observation(client: Client, tmp_path: Path, text: str) -> None:
    seen = judge(client, Case(text), tmp_path)
    assert seen["stage"] == "load"
    assert seen["exit"] in ("rejected", "crash")


def test_inputs_that_do_not_fit_are_named(client: Client, irs: tuple[str, str, str, str], tmp_path: Path) -> None:
    case = Case(irs[0])
    good = {"scheme": numpy.array("small"), "argument0": numpy.ones(4), "argument1": numpy.zeros(4)}
    path = tmp_path / "inputs.npz"
    numpy.savez(path, **good)  # type: ignore[arg-type]
    assert judge(client, case, tmp_path, path)["results"]["verdict"] == "defined"
    for damage, complaint in (
        ({"argument0": numpy.ones(5)}, "argument0 does not fit"),
        ({"argument0": numpy.ones(4, numpy.int64)}, "argument0 does not fit"),
        ({"argument0": numpy.ones((2, 2))}, "argument0 does not fit"),
    ):
        numpy.savez(path, **(good | damage))
        with pytest.raises(UserError, match=complaint):
            judge(client, case, tmp_path, path)
    numpy.savez(path, scheme=good["scheme"])
    with pytest.raises(UserError, match="no argument0"):
        judge(client, case, tmp_path, path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(UserError, match="not a regular file"):
        judge(client, case, tmp_path, path)


def test_another_python_judges_alike(irs: tuple[str, str, str, str], tmp_path: Path) -> None:
    case = Case(irs[0])
    path = tmp_path / "inputs.npz"
    arrays = {"scheme": numpy.array("small"), "argument0": numpy.ones(4), "argument1": numpy.zeros(4)}
    right = {"expected1": numpy.full(4, 2.0), "bound1": numpy.zeros(4)}
    limits = {"seconds": 10.0, "memory": 2 << 30}
    item: dict[str, Any] = {"do": "judge", "script": "", "reference": False, "inputs": str(path), **limits}
    with Guest(Path(sys.executable), zygote_environment()) as guest:
        numpy.savez(path, **arrays, **right)  # type: ignore[arg-type]
        assert guest.ask({**item, "case": case.to_json()})["wrong"] is False
        numpy.savez(path, **arrays, **(right | {"expected1": numpy.full(4, 2.5)}))  # type: ignore[arg-type]
        assert guest.ask({**item, "case": case.to_json()})["wrong"] is True
        unknown = replace(case, passes=(PassSpec("tirx.NoSuchPass"),))
        assert "NoSuchPass" in guest.ask({**item, "case": unknown.to_json()})["unloadable"]
        script = guest.ask({"do": "print", "case": case.to_json(), **limits})["script"]
        damaged = replace(case, ir="{}").to_json()
        assert "unloadable" in guest.ask({**item, "case": damaged})
        assert guest.ask({**item, "case": damaged, "script": script})["wrong"] is True


def test_a_python_without_tvm_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--python"):
        Guest(tmp_path / "python", zygote_environment())
    empty = tmp_path / "empty"
    empty.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    empty.chmod(0o755)
    with pytest.raises(UserError, match="needs apache-tvm"):
        Guest(empty, {})


def bundle_of(case: Case, place: Path) -> Path:
    """A bundle of wrong code that never was."""
    finding = Signed("wrong-code", ("optimised", "float32", "value"))
    path = add_bundle(place, finding, wrong("value"))
    write_json(path / "case.json", StoredCase(case, Provenance("test")).to_json())
    numpy.savez(path / "inputs.npz", scheme=numpy.array("small"), argument0=numpy.ones(4), argument1=numpy.zeros(4))
    return path


def test_a_call_of_the_shell_is_named_and_not_made(
    client: Client, irs: tuple[str, str, str, str], tmp_path: Path
) -> None:
    marker = tmp_path / "ran"
    case = Case(irs[3].replace("COMMAND", f"touch {marker}"))
    results = judge(client, case, tmp_path)["results"]
    assert (results["verdict"], results["rule"]) == ("unknown", "not-allowed")
    assert results["where"] == "not run: calls tirx.call_extern of 'system'"
    assert results["reference"]["ending"] == results["optimised"]["ending"] == "not-run"
    asked = {"path": str(bundle_of(case, tmp_path / "findings")), "oracles": ["crash", "inconsistency"]}
    (answer,) = client.ask("bisect", asked)
    assert not answer["shows"] and "'system'" in answer["why"]
    (answer,) = client.ask("reduce", {**asked, "seconds": 10.0, "environment": {}})
    assert answer["status"] == "does not show" and "'system'" in answer["why"]
    assert not marker.exists()
    # Its twin calls a function of the table, and both builds are run.
    twin = judge(client, Case(irs[3].replace("system", "fabsf").replace('"COMMAND"', '"x"')), tmp_path)["results"]
    assert twin["rule"] == "step-budget" and twin["reference"]["ending"] != "not-run"


@pytest.mark.long
def test_a_target_that_writes_files_is_one_line(
    tzerlike: Command, irs: tuple[str, str, str, str], tmp_path: Path
) -> None:
    dump = tmp_path / "dump"
    options = ["-print-after-all:bool=true", f"-ir-dump-directory:string={dump}"]
    case = Case(irs[0], target=json.dumps({"kind": "llvm", "cl-opt": options}))
    path = bundle_of(case, tmp_path / "findings")
    for order in (("replay", path), ("bisect", path), ("reduce", path), ("run", path / "case.json")):
        done = tzerlike(*order)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1 and "cl-opt" in done.stderr
    assert not dump.exists()


def test_a_trace_is_read_before_it_is_applied(irs: tuple[str, str, str, str], tmp_path: Path) -> None:
    finding = Signed("wrong-code", ("schedule", "Split", "value"))
    path = add_bundle(tmp_path, finding, replace(wrong("value"), stage=Stage.MUTATE))
    write_json(path / "case.json", StoredCase(Case(irs[0]), Provenance("test")).to_json())
    data = json.loads((path / "observation.json").read_text())
    data["environment"]["schedule"] = {"trace": '{"nodes": [{"type": "ffi.Function"}]}', "calls": []}
    (path / "observation.json").write_text(json.dumps(data))
    with pytest.raises(UserError, match=r"ffi\.Function"):
        load_bundle(path)
