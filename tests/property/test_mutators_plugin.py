"""Third parties' mutators: a sample package installed as a plug-in, and the conformance kit on good and bad ones."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tzerlike.core.errors import UserError
from tzerlike.mutators import ALL, Guarded, MutationEnv, make_mutators
from tzerlike.systems.tvm_api import entry_of, module_of, parse_script, s_tir, tirx
from tzerlike.testing import check_mutator, sample_functions
from tzerlike.tir.tree import Tree

SAMPLE = Path(__file__).parents[1] / "data" / "sample_plugin"

Install = Callable[..., None]


@dataclass(frozen=True, slots=True)
class Idle:
    name: str = "idle"

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any | None:
        return None


@dataclass(frozen=True, slots=True)
class Careless:
    """Use a variable that nobody defines."""

    name: str = "careless"

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any | None:
        tree = Tree(func)
        return tree.replace(tree.of_type(tirx.IntImm)[-1], tirx.Var("unknown", "int32"))


@dataclass
class Moody:
    """Draw from something else than the generator it is given."""

    name: str = "moody"
    calls: int = 0

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any | None:
        self.calls += 1
        tree = Tree(func)
        return tree.replace(tree.of_type(tirx.For)[0], tirx.Evaluate(tirx.Var("x", "int32") + self.calls))


def test_a_schedule_may_change_the_function_that_it_is_made_of() -> None:
    """TVM does so where nobody but the schedule holds the module."""
    func = parse_script(
        """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.sblock("b"):
            v = T.axis.spatial(8, i)
            A[v] = v
"""
    )

    def unroll(func: Any, rng: Random, env: MutationEnv) -> Any:
        schedule = s_tir.Schedule(module_of(func))
        schedule.unroll(schedule.get_loops(schedule.get_sblock("b"))[0])
        return entry_of(schedule.mod)

    mutator = Guarded(unroll, "unroll")
    child = mutator(func, Random(0), MutationEnv())
    assert child is not None
    assert mutator(child, Random(0), MutationEnv()) is None, "it is unrolled"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Make a package known as an installer does: its code on the path, its entry points beside it."""

    def make(project: dict[str, Any], code: Path | None = None, **changes: str) -> None:
        name = changes.get("name", project["name"])
        info = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        groups = project["entry-points"]
        lines = [f"{key} = {changes.get('value', value)}" for key, value in groups["tzerlike.plugins"].items()]
        (info / "entry_points.txt").write_text("[tzerlike.plugins]\n" + "\n".join(lines) + "\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        if code is not None:
            monkeypatch.syspath_prepend(str(code))

    return make


@pytest.fixture
def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((SAMPLE / "pyproject.toml").read_text())["project"]
    return found


def test_a_plugin_is_there_only_where_it_is_listed(install: Install, project: dict[str, Any]) -> None:
    install(project, SAMPLE / "src")
    assert tuple(m.name for m in make_mutators()) == ALL
    assert [m.name for m in make_mutators(["all", "sample:all"])] == [*ALL, "sample:doubler"]
    (mutator,) = make_mutators(["sample:doubler"])
    for parent in sample_functions():
        child = mutator(parent, Random(0), MutationEnv())
        assert child is not None
        assert len(Tree(child).of_type(tirx.BufferStore)) == len(Tree(parent).of_type(tirx.BufferStore)) + 1


def test_a_good_mutator_passes_the_kit(install: Install, project: dict[str, Any]) -> None:
    install(project, SAMPLE / "src")
    (mutator,) = make_mutators(["sample:doubler"])
    report = check_mutator(mutator)
    assert report.children == report.well_formed == report.tried


def test_what_is_not_installed_is_named_with_what_is(install: Install, project: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="no plug-in 'sample' is installed; there are none"):
        make_mutators(["sample:all"])
    install(project, SAMPLE / "src")
    with pytest.raises(UserError, match="no plug-in 'other' is installed; there are sample"):
        make_mutators(["other:all"])
    with pytest.raises(UserError, match=r"no mutator 'sample:halver'; .*sample:doubler"):
        make_mutators(["sample:halver"])


def test_two_plugins_of_one_name_are_both_named(install: Install, project: dict[str, Any]) -> None:
    install(project, SAMPLE / "src")
    install(project, name="impostor", value="elsewhere:plugin")
    with pytest.raises(UserError, match=r"both impostor \(.*\) and tzerlike-sample \(.*\) have a plug-in 'sample'"):
        make_mutators(["sample:all"])


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import nothing_like_this", "'sample' of tzerlike-sample .* does not load: ModuleNotFoundError: No module"),
        ("plugin = 3", "is a int, not a Plugin"),
        (
            "from tzerlike.plugins import Plugin\nplugin = Plugin(mutators={'constants': object})",
            "both tzerlike and the plug-in 'sample' have a mutator 'constants'",
        ),
    ],
)
def test_a_plugin_that_is_no_good_is_one_line(
    install: Install, project: dict[str, Any], tmp_path: Path, code: str, message: str
) -> None:
    module = f"bad_plugin_{abs(hash(code))}"
    (tmp_path / f"{module}.py").write_text(code)
    install(project, value=f"{module}:plugin")
    with pytest.raises(UserError, match=message) as caught:
        make_mutators(["all", "sample:all"])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("mutator", "complaint"),
    [
        (Idle(), "idle: no child in 80 calls"),
        (Careless(), "careless: only 0 of .* children are well-formed"),
        (Moody(), "moody, function 0, seed 0: the same seed gave two different children"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_kit_says_what_is_wrong(mutator: Any, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_mutator(mutator)
