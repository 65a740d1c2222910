"""ConfigMap basic-tor-node-cm -> leaf topology (chapter 23 §1.1)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from ascendctl.topology.leaf import LeafError, from_configmap

EXAMPLE = (
    '{"version":"1.0","tor_count":2,"server_list":['
    '{"tor_id":0,"tor_ip":"10.9.0.1","server":[{"server_ip":"10.1.0.1","npu_count":8,"slice_id":0},'
    '{"server_ip":"10.1.0.2","npu_count":8,"slice_id":1}]},'
    '{"tor_id":1,"tor_ip":"10.9.0.2","server":[{"server_ip":"10.1.0.3","npu_count":8,"slice_id":0},'
    '{"server_ip":"10.1.0.4","npu_count":8,"slice_id":1}]}]}'
)


def test_minimal_example() -> None:
    """§1.1; nodes 10.1.0.4 and 10.1.0.1 exist, in this order, and one without address."""
    found = from_configmap({"tor_info": EXAMPLE}, ["10.1.0.4", "", "10.1.0.1"])
    assert found.leaf_ips == ("10.9.0.1", "10.9.0.2") and found.leaf_ids == (0, 1)
    assert found.server_ptr.tolist() == [0, 2, 4]
    assert found.server_node.tolist() == [2, -1, -1, 0]
    assert found.server_slice.tolist() == [0, 1, 0, 1]
    assert found.server_ip == ("10.1.0.1", "10.1.0.2", "10.1.0.3", "10.1.0.4")
    assert (found.tor_count, found.level, found.single_layer) == (2, None, False)
    assert found.server_leaf.tolist() == [0, 0, 1, 1] and found.server_position.tolist() == [0, 1, 0, 1]
    assert found.server_of_node(3).tolist() == [3, -1, 0]
    assert found.seed_shared == () and found.server_npus == (8, 8, 8, 8)


def test_level_is_a_key_beside_tor_info() -> None:
    assert from_configmap({"tor_info": EXAMPLE, "tor_level": "single_layer"}, []).single_layer
    assert not from_configmap({"tor_info": EXAMPLE, "tor_level": "double_layer"}, []).single_layer
    inside = json.loads(EXAMPLE) | {"tor_level": "single_layer"}
    assert from_configmap({"tor_info": json.dumps(inside)}, []).level is None


def test_names_in_any_letter_case_null_and_states() -> None:
    """Go's decoder folds the case of names and takes null for zero."""
    text = '{"TOR_COUNT":4,"Server_List":[{"tor_ip":"a","isSharedTor":2,"ISHEALTHY":1,"server":null},{"tor_ip":null}]}'
    found = from_configmap({"tor_info": text}, [])
    assert found.tor_count == 4 and found.leaf_ips == ("a", "")
    assert found.server_ptr.tolist() == [0, 0, 0] and found.server_node.dtype == np.int32
    assert found.seed_shared == (2, 0) and found.seed_healthy == (1, 0)


def test_last_of_two_equal_names_counts() -> None:
    text = '{"tor_count":1,"TOR_COUNT":3,"server_list":[{}]}'
    assert from_configmap({"tor_info": text}, []).tor_count == 3


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({}, "tor_info is missing"),
        ({"tor_info": None}, "tor_info is missing"),
        ({"tor_info": "{"}, "unmarshal Tor config failed"),
        ({"tor_info": "[]"}, "unmarshal Tor config failed: expected an object"),
        ({"tor_info": "{}"}, "empty Tor configuration"),
        ({"tor_info": '{"server_list":[]}'}, "empty Tor configuration"),
        ({"tor_info": '{"server_list":{}}'}, "server_list is an object, expected a list"),
        ({"tor_info": '{"server_list":[7]}'}, "expected an object"),
        ({"tor_info": '{"server_list":[{"server":[{"slice_id":"0"}]}]}'}, "slice_id is '0', expected a whole number"),
        ({"tor_info": '{"server_list":[{}],"tor_count":2.5}'}, "tor_count is 2.5, expected a whole number"),
        ({"tor_info": '{"server_list":[{"tor_ip":1}]}'}, "tor_ip is"),
    ],
)
def test_not_imported(data: dict[str, Any], reason: str) -> None:
    with pytest.raises(LeafError, match=reason.replace("(", r"\(")):
        from_configmap(data, [])


def test_first_node_of_an_address_and_first_server_of_a_node_count() -> None:
    text = '{"tor_count":2,"server_list":[{"server":[{"server_ip":"x"},{"server_ip":"x"},{"server_ip":""}]}]}'
    found = from_configmap({"tor_info": text}, ["x", "x", ""])
    assert found.server_node.tolist() == [0, 0, -1]
    assert found.server_of_node(3).tolist() == [0, -1, -1]
