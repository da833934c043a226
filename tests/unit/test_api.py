"""The library without TVM: what a client is asked, and what its answer becomes."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tzerlike import api

WRONG: dict[str, Any] = {
    "observation": {
        "exit": "ok",
        "stage": "done",
        "message": "",
        "results": {"verdict": "defined", "rule": "", "where": ""},
        "rejection": None,
    },
    "findings": [{"kind": "wrong-code", "signature": "0" * 12, "parts": ["both"], "blame": "both"}],
}
REFUSED: dict[str, Any] = {
    "observation": {"exit": "rejected", "stage": "passes", "message": "no", "results": None, "rejection": None},
    "findings": [],
}


class FakeClient:
    """Answers each order with the same; keeps the order, and the text of the file that it names."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.answer = answer
        self.role = self.text = ""
        self.params: dict[str, Any] = {}

    def ask(self, role: str, params: dict[str, Any]) -> list[dict[str, Any]]:
        self.role, self.params = role, params
        self.text = Path(params["path"]).read_text()
        return [self.answer]

    def open(self) -> AbstractContextManager[Any]:
        return nullcontext(self)


def never() -> AbstractContextManager[Any]:
    raise AssertionError("started for nothing")


class Module:
    """A module in memory."""

    def script(self) -> str:
        return "its text"


@pytest.mark.parametrize("program", ["its text", Module()])
def test_a_program_reaches_the_client_as_a_file(program: str | Module) -> None:
    client = FakeClient(WRONG)
    judged = api.judge(program, passes="tirx.Simplify", input_seed=3, limits=api.Limits(1.0), client=client.open)
    assert (client.role, client.text) == ("judge-file", "its text")
    assert not Path(client.params["path"]).exists()
    assert client.params["passes"] == "tirx.Simplify"
    assert client.params["seconds"] == 1.0
    assert client.params["input_seed"] == 3
    assert judged.finding == api.Found("wrong-code", "0" * 12, "both")
    assert judged.interpreter == api.Interpreted("defined", None, None)


def test_as_json_it_is_what_the_command_prints() -> None:
    assert msgspec.to_builtins(api.judge("text", client=FakeClient(REFUSED).open)) == {
        "exit": "rejected",
        "stage": "passes",
        "message": "no",
        "reference": {"verdict": "unknown", "rule": None, "where": None},
        "finding": None,
    }


def test_what_the_caller_does_wrong_is_said_before_tvm_is_started(tmp_path: Path) -> None:
    (tmp_path / "case.json").write_text("{}")
    (tmp_path / "bundle").mkdir()
    with pytest.raises(api.UserError, match="no oracle 'taste'"):
        api.judge("text", oracles=("taste",), client=never)
    with pytest.raises(api.UserError, match="'model-form' has no meaning with --harness tir"):
        api.judge("text", oracles=("model-form",), client=never)
    for limits in (api.Limits(-1.0), api.Limits(float("nan")), api.Limits(5.0, 1 << 60)):
        with pytest.raises(api.UserError, match=r"--(timeout|memory-limit): expected from"):
            api.judge("text", limits=limits, client=never)
    (tmp_path / "file").touch()
    with pytest.raises(api.UserError, match=r"--out: cannot make .*file"):
        api.judge("text", out=tmp_path / "file", client=never)
    with pytest.raises(api.UserError, match="nowhere: not found; name a"):
        api.judge(tmp_path / "nowhere", client=never)
    with pytest.raises(api.UserError, match=r"case\.json"):
        api.judge(tmp_path / "case.json", client=never)
    with pytest.raises(api.UserError, match="bundle"):
        api.replay([tmp_path / "bundle"], client=never)
    with pytest.raises(api.UserError, match="is not empty"):
        api.fuzz(api.CampaignConfig(seed=1), tmp_path)
    with pytest.raises(api.UserError, match="no oracle 'taste'"):
        api.fuzz(api.CampaignConfig(seed=1, oracles=("taste",)), tmp_path / "new")
    assert not (tmp_path / "new").exists()
