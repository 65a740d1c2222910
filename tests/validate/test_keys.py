"""The key catalogue, spelling, placeholders, and what `explain` has to say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascendctl.engine.select import BY_ACCELERATOR, BY_ANNOTATION
from ascendctl.manifest.attributes import COPIED_ANNOTATIONS
from ascendctl.validate.catalogue import FAMILIES, OUTCOMES, TITLES, all_rules, find_rule, outcome_of
from ascendctl.validate.explain import FamilyTopic, KeyTopic, RuleTopic, explain, suggest
from ascendctl.validate.keys import ALL_KEYS, GROUP_A, PLACES, POLICIES, by_name, nearest_key
from ascendctl.validate.nearest import bare, distance, is_near, nearest
from ascendctl.validate.placeholders import is_placeholder


@pytest.mark.parametrize(
    ("left", "right", "apart"),
    [("", "", 0), ("abc", "abc", 0), ("abc", "ab", 1), ("abc", "acb", 1), ("abc", "xyz", 3), ("kitten", "sitting", 3)],
)
def test_distance(left: str, right: str, apart: int) -> None:
    assert distance(left, right, 5) == apart


@settings(max_examples=200, deadline=None)
@given(st.text("abc", max_size=7), st.text("abc", max_size=7), st.integers(0, 3))
def test_distance_is_symmetric_and_bounded(left: str, right: str, limit: int) -> None:
    exact = distance(left, right, 20)
    assert exact == distance(right, left, 20)
    assert distance(left, right, limit) == min(exact, limit + 1)


def test_near_words() -> None:
    assert bare("volcano.sh/Sp_Block") == "spblock"
    assert is_near("spblock", "spblok") and not is_near("spblock", "spbolkk")
    assert is_near("schedulepolicy", "shedulepolcy") and not is_near("duo", "due")
    assert nearest("chip8-node-8", POLICIES) == "chip8-node8"
    assert nearest("something", POLICIES) == ""


def test_the_catalogue_agrees_with_the_scheduler() -> None:
    assert GROUP_A == COPIED_ANNOTATIONS or set(GROUP_A) == set(COPIED_ANNOTATIONS)
    assert set(POLICIES) == set(BY_ANNOTATION) - {"module-a3-16"}
    assert set(BY_ACCELERATOR) <= set(by_name()["accelerator-type"][0].legal)


def test_every_key_says_where_it_goes() -> None:
    for key in ALL_KEYS:
        assert key.group in PLACES or not key.group, key.name
        assert key.values or not key.user, key.name
        assert key.readers, key.name


@pytest.mark.parametrize(
    "key", ["sp-block", "huawei.com/schedule_policy", "job-name", "training.kubeflow.org/job-name", "team"]
)
def test_known_and_foreign_keys_are_no_near_misses(key: str) -> None:
    assert nearest_key(key) == ""


@pytest.mark.parametrize(
    ("text", "filling"),
    [
        ("<image>", True), ("a/<b>/c", True), ("registry/a:<tag>", True), ("${x}", True), ("{{ .x }}", True), ("{% if %}", True),
        ("xxx", True), ("XX", True), ("TODO", True), ("changeme", True), ("REPLACE_ME", True),
        ("$(NAME)", False), ("x", False), ("a<b", False), ("{}", False), ("axx", False), ("<a> and <b>", False), ("", False),
    ],
)  # fmt: skip
def test_placeholders(text: str, filling: bool) -> None:
    assert is_placeholder(text) is filling


# ------------------------------------------------------------------------------------------------- rules and topics
CHAPTER = {
    "DOC": 17, "K8S": 25, "SCH": 8, "ACJ": 33, "VCJ": 29, "PGR": 8, "WLD": 11, "INF": 17, "EXT": 3, "RES": 13, "SEL": 16,
    "SPB": 17, "RAB": 10, "MLV": 13, "TOR": 5, "D31": 11, "VNP": 12, "SFT": 8, "RSC": 18, "ENV": 7, "RTB": 7,
}  # fmt: skip
"""Rules by family (chapter 40, introduction)."""


def test_the_rule_table_is_complete() -> None:
    ids = {rule.id for rule in all_rules()}
    wanted = {f"{family}-{number:02}" for family, count in CHAPTER.items() for number in range(1, count + 1)}
    assert wanted - ids == set()
    assert set(FAMILIES) == set(TITLES) == set(CHAPTER) | {"SW", "CMT"}


def test_every_rule_is_documented() -> None:
    for rule in all_rules():
        assert re.fullmatch(r"[A-Z][A-Z0-9]{1,2}-[0-9]{2}", rule.id)
        assert rule.severity in ("error", "warning", "info")
        assert rule.when and rule.message and rule.wrong and rule.right, rule.id
        assert outcome_of(rule) or rule.outcome in ("", "default", "doc"), rule.id


def test_every_rule_is_tested() -> None:
    texts = "".join(path.read_text() for path in Path(__file__).parents[1].rglob("test_*.py"))
    assert [rule.id for rule in all_rules() if rule.id not in texts] == []


def test_outcomes_are_sentences() -> None:
    assert all(text[0].islower() or text.startswith("the API") for text in OUTCOMES.values())


def test_explain_a_rule_a_family_and_keys() -> None:
    (rule,) = explain("spb-06")
    assert isinstance(rule, RuleTopic) and rule.rule is find_rule("SPB-06") and "Pending" in rule.outcome
    (spb,) = explain("SPB")
    assert isinstance(spb, FamilyTopic) and len(spb.rules) >= 17
    (key,) = explain("sp-block")
    assert isinstance(key, KeyTopic) and "SPB-01" in key.rules
    assert ("Pod", "$.metadata.annotations") in key.places
    assert [topic.to_dict()["name"] for topic in explain("schedule_policy")] == ["huawei.com/schedule_policy"]
    places = {topic.key.place for topic in explain("huawei.com/Ascend910") if isinstance(topic, KeyTopic)}
    assert places == {"annotation", "resource"}
    assert explain("nothing-like-it") == []
    for topic in (rule, spb, key):
        assert topic.to_dict()["topic"] in ("rule", "family", "key")


@pytest.mark.parametrize(
    ("term", "meant"),
    [("SPB-6", "SPB-06"), ("sp-blok", "sp-block"), ("schedulepolicy", "huawei.com/schedule_policy"), ("zzzzzzzz", "")],
)
def test_suggestions(term: str, meant: str) -> None:
    assert suggest(term) == meant
