"""One before and after per mutator: `mutators/<name>.txt` holds the function, the seed, and the child.

After a change that is meant, write them anew with `python -m tests.golden.test_mutators` and read the difference.
"""

from pathlib import Path
from random import Random

import pytest

from tzerlike.mutators import ALL, OF_TILES, MutationEnv, make_mutators
from tzerlike.systems import tvm_api
from tzerlike.testing import LOOPS, MATMUL, THREADS, VECTORS, sample_functions

HERE = [name for name in ALL if name not in OF_TILES]
DIRECTORY = Path(__file__).parent / "mutators"
SUBJECTS = {"LOOPS": LOOPS, "MATMUL": MATMUL, "VECTORS": VECTORS, "THREADS": THREADS}
OTHERS = {"predicated-access": "VECTORS", "shared-memory": "THREADS"}
BLOCKS = ("schedule-loops", "schedule-blocks", "block-annotations", "software-pipeline")


def render(name: str) -> str:
    """The golden text of the mutator: the first seed whose child is well-formed is the one shown."""
    (mutator,) = make_mutators([name])
    subject = "MATMUL" if name in BLOCKS else OTHERS.get(name, "LOOPS")
    parent = tvm_api.parse_script(SUBJECTS[subject])
    env = MutationEnv(donor=lambda: sample_functions()[3], defined_weight=1.0)
    for seed in range(50):
        child = mutator(parent, Random(seed), env)
        if child is not None and tvm_api.well_formed(tvm_api.module_of(child)):
            return (
                f"mutator {name}, seed {seed}, {subject} of tzerlike.testing\n"
                f"---- before\n{_script(parent)}\n---- after\n{_script(child)}\n"
            )
    raise AssertionError(f"{name} makes no child of its golden subject")


def _script(func: object) -> str:
    lines = tvm_api.script_of(func).splitlines()
    return "\n".join(line for line in lines if not line.startswith("# ")).strip()


@pytest.mark.parametrize("name", HERE)
def test_golden(name: str) -> None:
    assert render(name) == (DIRECTORY / f"{name}.txt").read_text()


def test_every_golden_has_its_mutator() -> None:
    assert sorted(path.stem for path in DIRECTORY.glob("*.txt")) == sorted(HERE)


if __name__ == "__main__":
    DIRECTORY.mkdir(exist_ok=True)
    for each in HERE:
        (DIRECTORY / f"{each}.txt").write_text(render(each))
