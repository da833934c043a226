import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tzerlike.core.case import Case, ContextConfig, PassSpec, Provenance, parse_sequence, print_sequence
from tzerlike.core.errors import UserError

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.]{0,12}", fullmatch=True)
values = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
specs = st.builds(
    lambda name, args: PassSpec(name, tuple(args.items())), names, st.dictionaries(names, values, max_size=3)
)
sequences = st.lists(specs, max_size=4).map(tuple)
options = st.dictionaries(names, values, max_size=3).map(lambda d: tuple(d.items()))
configs = st.builds(
    ContextConfig,
    st.integers(0, 4),
    options,
    st.lists(names, max_size=2).map(tuple),
    st.sampled_from(["default", "none"]),
)
cases = st.builds(Case, st.text(max_size=40), sequences, configs, st.just("llvm"), st.integers(0, 2**32))


@given(sequences)
def test_parsing_what_was_printed_gives_the_sequence_back(sequence: tuple[PassSpec, ...]) -> None:
    assert parse_sequence(print_sequence(sequence)) == sequence


@given(cases)
def test_a_case_survives_json(case: Case) -> None:
    again = Case.from_json(json.loads(json.dumps(case.to_json())))
    assert again == case
    assert again.id == case.id


@given(cases, cases)
def test_ids_are_equal_only_for_equal_cases(left: Case, right: Case) -> None:
    assert (left.id == right.id) == (left.to_json() == right.to_json())


def test_the_order_of_arguments_does_not_matter() -> None:
    assert PassSpec("a.B", (("y", 1), ("x", 2))) == PassSpec("a.B", (("x", 2), ("y", 1)))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("tirx.UnrollLoop; ;", "expected a pass name at character 18"),
        ("tirx.UnrollLoop{", "expected an argument name"),
        ("tirx.UnrollLoop{a}", "expected '='"),
        ("tirx.UnrollLoop{a=}", "not JSON"),
        ("tirx.UnrollLoop{a=[1]}", "must be a number"),
        ("tirx.UnrollLoop{a=1, a=2}", "given twice"),
        ("tirx.UnrollLoop tirx.Other", "expected ';'"),
        ("7up", "expected a pass name at character 1"),
    ],
)
def test_a_sequence_that_does_not_parse_says_where(text: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint.replace("(", r"\(")):
        parse_sequence(text)


def _good() -> dict[str, Any]:
    return Case("{}", (PassSpec("a.B"),)).to_json()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"ir": 3}, "case.ir: expected str"),
        ({"schema_version": 99}, "schema_version 99"),
        ({"schema_version": True}, "case.schema_version"),
        ({"passes": {}}, "case.passes: expected array"),
        ({"passes": [3]}, r"case.passes\[0\]: expected object"),
        ({"passes": [{"name": "a.B"}]}, r"case.passes\[0\].args: missing"),
        ({"passes": [{"name": "a b", "args": {}}]}, "not a pass name"),
        ({"passes": [{"name": "a.B", "args": {"x": [1]}}]}, "expected bool"),
        ({"config": None}, "case.config: expected object"),
        ({"input_seed": "1"}, "case.input_seed: expected int"),
    ],
)
def test_a_faulty_case_names_its_first_fault(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        Case.from_json(_good() | change)


@pytest.mark.parametrize("key", ["ir", "passes", "config", "target", "input_seed", "schema_version"])
def test_a_missing_field_is_named(key: str) -> None:
    data = _good()
    del data[key]
    with pytest.raises(UserError, match=f"case.{key}: missing"):
        Case.from_json(data)


def test_provenance_survives_json() -> None:
    provenance = Provenance("topi.add", "ab", "constants", 1, 17, 3)
    assert Provenance.from_json(json.loads(json.dumps(provenance.to_json()))) == provenance
