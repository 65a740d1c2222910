"""Rules on the leaf topology of a snapshot, ConfigMap basic-tor-node-cm, SW-* (chapter 23 §1.1).

The scheduler checks nothing but that the list is there; what is wrong beyond makes it misplace jobs or abort.
`ascendctl.topology.leaf_lint` finds the violations.
"""

from __future__ import annotations

from ascendctl.validate.rule import Rule

_SOURCE = "chapter 23 §1.1"


def _rule(number: int, severity: str, when: str, message: str, hint: str, about: str, wrong: str, right: str) -> Rule:
    return Rule(
        f"SW-{number:02}",
        severity,
        when,
        message,
        hint,
        kinds=("ConfigMap",),
        source=_SOURCE,
        about=about,
        wrong=wrong,
        right=right,
    )


RULES: tuple[Rule, ...] = (
    _rule(
        1,
        "error",
        "tor_info is missing, is no JSON object, or lists no leaf switch",
        "the leaf topology cannot be read: {problem}",
        "generate basic-tor-node-cm again with lld_to_cm.py",
        "The scheduler then counts the topology as not imported and refuses every job with switch affinity.",
        'tor_info: \'{"version":"1.0","tor_count":4,"server_list":[]}\'',
        'tor_info: \'{"version":"1.0","tor_count":4,"server_list":[{"tor_ip":"10.9.0.1", ...}]}\'',
    ),
    _rule(
        2,
        "error",
        "tor_count is below 1 or above 128",
        "tor_count is {width}, it must be from 1 to 128",
        "write the number of servers below one leaf switch",
        "tor_count is the width of a leaf switch, not the number of leaf switches. 0 makes jobs fail, a negative value "
        "aborts the scheduler, above 128 there are no logical leaf switches.",
        '"tor_count": 0',
        '"tor_count": 4',
    ),
    _rule(
        3,
        "error",
        "a leaf switch has more servers than tor_count",
        "{count} leaf switches have more than tor_count {width} servers: {examples}",
        "raise tor_count to the widest leaf switch",
        "The scheduler aborts as soon as a usable node stands behind the last position.",
        '"tor_count": 2    # "server" lists 4',
        '"tor_count": 4',
    ),
    _rule(
        4,
        "warning",
        "a leaf switch has fewer servers than tor_count",
        "{count} leaf switches have fewer than tor_count {width} servers: {examples}",
        "nothing, if the leaf switches really have fewer servers",
        "Such a leaf switch never counts as completely free, so large jobs use it only position by position.",
        '"tor_count": 4    # "server" lists 3',
        '"tor_count": 4    # "server" lists 4',
    ),
    _rule(
        5,
        "error",
        "tor_ip is empty or stands for two leaf switches",
        "{count} leaf addresses are empty or stand for several leaf switches: {examples}",
        "give every leaf switch its own tor_ip",
        "States are kept by tor_ip, so the leaf switches overwrite each other.",
        '{"tor_ip": "10.9.0.1", ...}, {"tor_ip": "10.9.0.1", ...}',
        '{"tor_ip": "10.9.0.1", ...}, {"tor_ip": "10.9.0.2", ...}',
    ),
    _rule(
        6,
        "error",
        "a server_ip is listed twice",
        "{count} addresses are listed more than once: {examples}",
        "list every server below one leaf switch",
        "The node would count below two leaf switches.",
        '{"server_ip": "10.1.0.1", ...}, {"server_ip": "10.1.0.1", ...}',
        '{"server_ip": "10.1.0.1", ...}, {"server_ip": "10.1.0.2", ...}',
    ),
    _rule(
        7,
        "error",
        "a slice_id is outside 0 .. tor_count-1 or repeats below a leaf switch",
        "{count} leaf switches have slice ids outside 0..{last} or twice: {examples}",
        "number the servers of each leaf switch from 0",
        "Ids out of range are left out when the slice for lost pods is chosen.",
        '"tor_count": 4, ... "slice_id": 4',
        '"tor_count": 4, ... "slice_id": 3',
    ),
    _rule(
        8,
        "warning",
        "slice_id is not the position in the list",
        "{count} servers have a slice_id that is not their position in the list: {examples}",
        "sort the servers of a leaf switch by slice_id",
        "Nodes are chosen by their position in the list, ranks are ordered by slice_id.",
        '[{"slice_id": 1, ...}, {"slice_id": 0, ...}]',
        '[{"slice_id": 0, ...}, {"slice_id": 1, ...}]',
    ),
    _rule(
        9,
        "warning",
        "a server_ip is no node's InternalIP",
        "{count} servers are no node of the snapshot: {examples}",
        "compare server_ip with the InternalIP of the nodes",
        "The server is never used.",
        '"server_ip": "10.1.0.99"    # no node has this InternalIP',
        '"server_ip": "10.1.0.1"',
    ),
    _rule(
        10,
        "warning",
        "a node with NPUs is not listed",
        "{count} nodes with NPUs are not listed: {examples}",
        "add the nodes to basic-tor-node-cm",
        "A job with switch affinity never takes such a node.",
        '"server": []    # node with InternalIP 10.1.0.1 is missing',
        '"server": [{"server_ip": "10.1.0.1", ...}]',
    ),
    _rule(
        11,
        "warning",
        "tor_level is neither single_layer nor double_layer",
        "tor_level is {level!r}, the scheduler takes it for double_layer",
        "write single_layer or double_layer",
        "Only the exact text single_layer switches the rules of a single-layer network on.",
        "tor_level: single-layer",
        "tor_level: single_layer",
    ),
    _rule(
        12,
        "info",
        "npu_count differs from what the node has",
        "{count} servers have an npu_count that is not the node's: {examples}",
        "nothing: the scheduler does not use npu_count",
        "A difference may show that the list is out of date.",
        '"npu_count": 8    # the node has 16',
        '"npu_count": 16',
    ),
)
