"""Go's JSON: check codes (chapter 30 §2) and decoding rules (§6.1)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascendctl.snapshot import gojson

TWO_CHIPS = {
    "huawei.com/Ascend910-Unhealthy": "",
    "huawei.com/Ascend910": "Ascend910-0,Ascend910-1",
    "huawei.com/Ascend910-Recovering": "",
    "huawei.com/Ascend910-Fault": "[]",
    "huawei.com/Ascend910-NetworkUnhealthy": "",
}
ESCAPED = {"huawei.com/Ascend910-Fault": '[{"npu_name":"Ascend910-0","fault_code":"a\\u003cb\\u0026c\\u003e"}]'}
CPU_FAULT = {
    "DeviceType": "CPU",
    "DeviceId": 1,
    "FaultCode": ["00000011", "00000015"],
    "FaultLevel": "PreSeparateFault",
}
DEVICE_VECTORS = {
    "V1": ({}, 0, "de66ee6ed1e7a46ba95255b4ea0de48d161dc047b75109471eb7b85d1ea230aa"),
    "V2": (None, 0, "aaa60c794e2dbec298a2f3c18ea64dea9a1fd2ccdb0cc577b8dfe2c3c5966965"),
    "V3": (TWO_CHIPS, 1788000000, "8247ae405a6f122000752d2af17b065005ac132534759afcaa4a0b6dd2568f9d"),
    "V4": (TWO_CHIPS, 1788000001, "9f85106670cdbd5dfa63e185a22d6e29d55287f69d7cd5a18d1e3261bd62312a"),
    "V8": (ESCAPED, 1, "3059622ff7b6df517f7b60c612b72b8d935a12e08f277a924d6bc76bd8d8e78e"),
    "V9": (
        {"huawei.com/Ascend910-Fault": "故障"},
        1,
        "7f0ad63306749b626558b56da32005639fe4b5140a5382a89d5e4443dbd9513d",
    ),
}
NODE_VECTORS = {
    "V5": (
        {"FaultDevList": None, "NodeStatus": "Healthy"},
        "0e41611c88c69578c004cb930ce23dc99e68844eae5cbac1ea0b6a9f789bfaf0",
    ),
    "V6": (
        {"FaultDevList": [], "NodeStatus": "Healthy"},
        "de38ed93b4fcbb7e7314695274a68ccf4aaece2c8fa2df361942d25731584886",
    ),
    "V7": (
        {"FaultDevList": [CPU_FAULT], "NodeStatus": "PreSeparate"},
        "63d60647b78f88573dcc734dad459930941bc62b6f04a963b9ab0371f59e8903",
    ),
    "V10": (
        {"FaultDevList": [], "HeartbeatTime": 1729850400, "HeartbeatInterval": 5, "NodeStatus": "Healthy"},
        "856156d9952c88ebb7d14bf1f5327d61cebc5c9df0324c6d3acda1682378d8c3",
    ),
}


@pytest.mark.parametrize("name", DEVICE_VECTORS)
def test_device_vectors(name: str) -> None:
    lists, time, code = DEVICE_VECTORS[name]
    assert gojson.device_check_code(lists, time) == code


@pytest.mark.parametrize("name", NODE_VECTORS)
def test_node_vectors(name: str) -> None:
    payload, code = NODE_VECTORS[name]
    assert gojson.check_code(payload) == code


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("<&>", '"\\u003c\\u0026\\u003e"'),
        ('a"b\\c/\x7f', '"a\\"b\\\\c/\x7f"'),
        ("\n\r\t\x01\x1f", '"\\n\\r\\t\\u0001\\u001f"'),
        ("\u2028\u2029", '"\\u2028\\u2029"'),
        ("\ud800x", '"\\ufffdx"'),
        ([True, False, None, -5, 1 << 40], "[true,false,null,-5,1099511627776]"),
        ({"b": {}, "a": []}, '{"b":{},"a":[]}'),
    ],
)
def test_encoding_rules(value: Any, text: str) -> None:
    assert gojson.go_json(value) == text


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda c: st.lists(c) | st.dictionaries(st.text(), c)
    )
)
def test_what_is_encoded_decodes_to_the_same(value: Any) -> None:
    assert json.loads(gojson.go_json(value)) == value


def test_member_names_match_in_any_letter_case_and_the_last_counts() -> None:
    fields = frozenset(("UpdateTime", "SuperPodID"))
    for text, wanted in (
        ('{"UpdateTime":5,"updatetime":6}', 6),
        ('{"updatetime":6,"UpdateTime":5}', 5),
        ('{"UPDATETIME":7,"other":1}', 7),
        ('{"UpdateTime":5,"updatetime":6,"UpdateTime":8}', 8),
    ):
        assert gojson.members(gojson.loads_merged(text), fields)["UpdateTime"] == wanted
    assert gojson.members(None, fields) == {}
    with pytest.raises(gojson.GoTypeError):
        gojson.members([], fields)


def test_a_map_that_occurs_twice_is_merged_and_other_members_are_replaced() -> None:
    text = '{"n":{"DeviceList":{"a":"1","b":"2"},"DeviceList":{"b":"3"}},"n":{"DeviceList":{"c":"4"},"UpdateTime":1}}'
    assert gojson.loads_merged(text) == {"n": {"DeviceList": {"c": "4"}, "UpdateTime": 1}}
    assert gojson.loads_merged('{"DeviceList":{"a":"1","b":"2"},"DeviceList":{"b":"3"}}') == {
        "DeviceList": {"a": "1", "b": "3"}
    }


@pytest.mark.parametrize("value", ["5", 5.0, True, 1 << 31, -(1 << 31) - 1, [1]])
def test_numbers_that_are_type_errors(value: Any) -> None:
    with pytest.raises(gojson.GoTypeError):
        gojson.integer(value, "SuperPodID")


def test_numbers_and_texts_that_are_none() -> None:
    assert gojson.integer(None, "x") == 0 and gojson.integer(-(1 << 31), "x") == -(1 << 31)
    assert gojson.integer(1 << 40, "x", gojson.INT64) == 1 << 40
    assert gojson.text(None, "x") == "" and gojson.text_map(None, "x") == {}
    assert gojson.text_map({"a": None, "b": "1"}, "x") == {"a": "", "b": "1"}
    for bad in (5, ["a"], {"a": 5}):
        with pytest.raises(gojson.GoTypeError):
            gojson.text_map(bad, "x")


@pytest.mark.parametrize("text", ["{} x", "{,}", "[1,]", "{'a':1}", "NaN", '{"a":NaN}', "\ufeff{}", "", "{" * 3000])
def test_syntax_errors(text: str) -> None:
    with pytest.raises(ValueError):
        gojson.loads(text)


def test_lone_surrogates_are_no_syntax_error() -> None:
    assert gojson.loads('{"\\udc00":["\\ud800x"]}') == {"\ufffd": ["\ufffdx"]}
