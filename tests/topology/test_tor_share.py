"""tor-share-cm as the scheduler would publish it (chapter 23 §1.3)."""

from __future__ import annotations

import json

import ascendctl
from ascendctl.topology.tor_share import tor_share
from tests import cases
from tests.engine.policies.switch_world import answer, case


def test_states_nodes_and_jobs() -> None:
    example = case(2, "L1{1} L2{0,1}", "normal 2", ("normal@L1.0 [2/0]",), version="2.0")
    example["leaves"]["tor_info"]["server_list"][1]["server"][1]["server_ip"] = "10.8.8.8"
    cluster = ascendctl.load_snapshot(cases.objects(example))
    found = tor_share(cluster)
    assert found is not None
    assert found["metadata"] == {"name": "tor-share-cm", "namespace": "volcano-system"}
    assert json.loads(found["data"]["global-tor-info"]) == {
        "L1": {
            "IsHealthy": 0,
            "IsSharedTor": 2,
            "nodes": [
                {"NodeIp": "10.1.0.1", "NodeName": "l1-0", "JobName": ["r0"]},
                {"NodeIp": "10.1.0.2", "NodeName": "l1-1", "JobName": []},
            ],
        },
        "L2": {
            "IsHealthy": 0,
            "IsSharedTor": 0,
            "nodes": [
                {"NodeIp": "10.2.0.1", "NodeName": "l2-0", "JobName": []},
                {"NodeIp": "10.8.8.8", "NodeName": "", "JobName": []},
            ],
        },
    }


def test_states_after_a_placement() -> None:
    """V2-20: the leaf of a job that fills it is exclusive until the session ends."""
    example = case(4, "I:L1{0,1,2,3} I:L2{1,2,3}", "large 4", version="2.0")
    states = answer(example)["metrics"]["leaf_states"]
    found = tor_share(ascendctl.load_snapshot(cases.objects(example)), states)
    assert found is not None
    content = json.loads(found["data"]["global-tor-info"])
    assert {leaf: entry["IsSharedTor"] for leaf, entry in content.items()} == {"L1": 2, "L2": 0}
    assert all(node["JobName"] == [] for entry in content.values() for node in entry["nodes"])


def test_written_with_version_two_only() -> None:
    one = case(4, "L1{0,1,2,3}", "normal 2")
    assert tor_share(ascendctl.load_snapshot(cases.objects(one))) is None
    one["params"]["nslb-version"] = "2.0"
    one["leaves"] = None
    assert tor_share(ascendctl.load_snapshot(cases.objects(one))) is None
    single = case(4, "L1{0,1,2,3}", "normal 2", version="2.0", level="single_layer")
    assert tor_share(ascendctl.load_snapshot(cases.objects(single))) is not None
