"""What of a module is not read as it was, and that signatures tell that apart."""

from __future__ import annotations

from tests.models import CONSTANT, OTHER, RIGHT, case_of, drawn_module, one_call
from tzerlike.core.observation import READS_BACK, Exit, Observation, Offence, Stage
from tzerlike.harnesses.graph.construct import differing_construct
from tzerlike.oracles.model_steps import judge_texts
from tzerlike.systems import tvm_api


def test_the_construct_is_named_in_which_modules_differ() -> None:
    normalised = [
        one_call("nn.rms_norm", "float32", ((4, 6), (6,)), axes=(-1,), epsilon=epsilon) for epsilon in (1e-5, 1e-4)
    ]
    one, other = map(drawn_module, normalised)
    assert differing_construct(one, other) == "relax.nn.rms_norm VarBinding.value Call.attrs RMSNormAttrs.epsilon"
    lowered = tvm_api.part("relax").transform.LegalizeOps()
    assert differing_construct(lowered(one), lowered(other)).startswith("tirx.rsqrt ")
    assert differing_construct(drawn_module(RIGHT), drawn_module(OTHER)) != differing_construct(
        drawn_module(CONSTANT), drawn_module(RIGHT)
    )
    assert differing_construct(one, one) == ""


def test_findings_in_other_constructs_are_others_but_match_older_ones() -> None:
    case, found = case_of(RIGHT, "relax.ThroughText"), []
    for where in ("relax.clip FloatImm value", "relax.take StringImm value"):
        offence = Offence(READS_BACK, "relax.ThroughText", "the same module", where)
        one = judge_texts(case, Observation(Exit.OK, Stage.DONE, offences=(offence,)))
        assert one is not None
        found.append(one)
    assert found[0].signature != found[1].signature
    assert found[0].signatures[:3] == found[1].signatures[:3]
