"""Node labels from and to CSV files (chapter 22 §1.4)."""

from __future__ import annotations

import pytest

from ascendctl.engine.api import place
from ascendctl.topology.csv_labels import overlay, read_labels, write_labels
from ascendctl.yamlio.errors import ReadError
from tests.engine.policies.tree_world import A, groups, inputs, make_case

TOPOTREE, GROUPID, RACK = "huawei.com/topotree", "huawei.com/topotree.groupid", "huawei.com/topotree.rackid"


def test_the_file_of_the_label_tool() -> None:
    table = read_labels(f"\ufeffnodeName,{TOPOTREE},{GROUPID}\r\nnode-1,default, 1\r\n\r\nnode-2,,2\r\n", "labels.csv")
    assert table.keys == (TOPOTREE, GROUPID)
    assert table.rows == {"node-1": ("default", "1"), "node-2": ("", "2")}


def test_labels_decide_the_placement() -> None:
    job, cluster = inputs(make_case(A, 4, "level1=4"))
    assert place(job, cluster).outcome == "unschedulable"
    table = read_labels(f"nodeName,{RACK}\nn2,S0\nn3,S0\nn5,\nx9,S0\n", "f")
    found, unknown = overlay(cluster, table)
    assert unknown == ("x9",)
    assert groups(place(job, found)) == "n0,n1,n2,n3"
    assert cluster.labels.get(2, RACK) == "S1"
    assert found.labels.get(5, RACK) == "S2"


def test_written_and_read_again() -> None:
    _, cluster = inputs(make_case({"alpha": A}, 4, "level1=2"))
    text = write_labels(cluster)
    assert text.splitlines()[:2] == [f"nodeName,{TOPOTREE},{RACK},huawei.com/topotree.superpodid", "n0,alpha,S0,G0"]
    again, unknown = overlay(cluster, read_labels(text, "f"))
    assert unknown == ()
    assert write_labels(again) == text
    assert write_labels(cluster, ("zone",)).splitlines()[1] == "n0,"


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        ("", "f", "is empty"),
        ("\n\n", "f", "is empty"),
        ("node,a\n", "f:1", "nodeName"),
        ("nodeName\n", "f:1", "label key"),
        ("nodeName,a,a\n", "f:1", "twice"),
        ("nodeName,a b\n", "f:1", "cannot be the key"),
        ("nodeName,a\nn1,x,y\n", "f:2", "3 cells"),
        ("nodeName,a\nn1,x\nn1,y\n", "f:3", "twice"),
        ("nodeName,a\n,x\n", "f:2", "the row names no node"),
        ("nodeName,a\nn1,x y\n", "f:2", "cannot be the value"),
        ('nodeName,a\nn1,"x\n', "f:2", "this is no CSV"),
        ("nodeName,a\nn1," + "x" * 64 + "\n", "f:2", "cannot be the value"),
    ],
)
def test_errors_name_the_line(text: str, where: str, message: str) -> None:
    with pytest.raises(ReadError) as caught:
        read_labels(text, "f")
    assert where in str(caught.value)
    assert message in str(caught.value)
