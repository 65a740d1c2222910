"""What can be wrong with a dump (chapter 30 §8.6, chapter 22): the codes as data, and their collection in a load."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Code:
    """One diagnostic code. `effect` tells what it means for scheduling, `remedy` what to do about it."""

    severity: str
    title: str
    effect: str
    remedy: str


_KUBECTL = "export the objects again: kubectl get cm -A -o json"
_ASK_PLUGIN = "look at the Ascend Device Plugin of the node and restart it"

CODES: dict[str, Code] = {
    "S302": Code(
        "warning",
        "device data of the other source used",
        "the scheduler is set up to read ConfigMaps that the dump lacks, so it would see no NPU; those of the other "
        "source stand in, which differ in public faults",
        "export the missing ConfigMaps, or choose the source with --cm-source",
    ),
    "S303": Code(
        "warning",
        "ConfigMap without the consumer label",
        "the scheduler does not see such a ConfigMap; it is used here all the same",
        "export with labels; if the cluster's own object lacks it, add the label mx-consumer-cim=true (device plugin, "
        "noded) or mx-consumer-volcano=true (ClusterD)",
    ),
    "S304": Code(
        "warning",
        "value that is no text",
        "the API server stores texts only; the value counts as the text it would have become",
        "quote the value, or export the object with kubectl",
    ),
    "S305": Code(
        "warning",
        "object without namespace",
        "in a cluster it would be in namespace default, where the scheduler does not look for it",
        "add metadata.namespace",
    ),
    "S306": Code(
        "warning",
        "object twice in the dump",
        "the version with the higher resourceVersion counts, else the later one",
        "leave out the older export",
    ),
    "S307": Code(
        "warning",
        "files of the dump differ in time",
        "pods placed between the exports make nodes look unstable or free",
        "export ConfigMaps, nodes and pods within a few seconds",
    ),
    "S310": Code(
        "warning",
        "CheckCode does not match",
        "ClusterD refuses such a row and keeps the former one; the scheduler itself uses it (before 7.0 it refused it)",
        "do not edit or re-indent DeviceInfoCfg by hand; " + _KUBECTL,
    ),
    "S311": Code(
        "warning",
        "CheckCode is missing",
        "ClusterD refuses such a row; the scheduler itself uses it (before 7.0 it refused it)",
        _ASK_PLUGIN + ", or " + _KUBECTL,
    ),
    "S312": Code(
        "info",
        "device row is more than 10 minutes older than the newest",
        "the scheduler does not check ages; the row may describe a state that is over",
        _ASK_PLUGIN,
    ),
    "S313": Code(
        "info",
        "node information of an old format with heartbeat",
        "the heartbeat is ignored; schedulers up to 6.0.0-RC3 took a stale one for a broken node",
        "nothing, unless the cluster runs NodeD 6.0.0-RC3 or older on purpose",
    ),
    "S314": Code(
        "error",
        "DeviceInfoCfg is missing or empty",
        "the node has no device row: no NPU of it can be used",
        _ASK_PLUGIN,
    ),
    "S315": Code(
        "error",
        "data that cannot be decoded",
        "the scheduler drops the whole text: every node in it is without NPU data",
        "correct the text, or " + _KUBECTL,
    ),
    "S316": Code(
        "warning",
        "node in two shards",
        "the entry with the larger UpdateTime counts, at equal times that of the higher shard; the live scheduler may "
        "take either",
        "export the cluster-info ConfigMaps again, in one call",
    ),
    "S317": Code("info", "device row without Node object", "the scheduler ignores it", "export the nodes as well"),
    "S318": Code(
        "warning",
        "chip type of the device list is ambiguous or not the node's",
        "the scheduler guesses the type from the first key of an unordered map; with the wrong guess the node has no "
        "usable NPU list",
        _ASK_PLUGIN,
    ),
    "S319": Code(
        "error",
        "no known NPU resource in the device list",
        "the node's NPUs are invisible to the scheduler",
        "renamed resources (deviceNameCustomization.json) are not supported; undo the renaming or update the plugin",
    ),
    "S320": Code(
        "warning",
        "SuperPoD data disagree",
        "the scheduler places by the SuperPodID of the device row, whatever the annotation or super-pod ConfigMap says",
        "restart the Device Plugin of the node, then ClusterD",
    ),
    "S321": Code(
        "error",
        "annotation baseDeviceInfos is missing or unreadable",
        "the node's whole device list counts as empty: no NPU of it can be used",
        _ASK_PLUGIN,
    ),
    "S322": Code(
        "warning",
        "pod with a name that Kubernetes would refuse",
        "its chips count as free while its request is subtracted: the node looks unstable",
        "correct the dump",
    ),
    "S323": Code(
        "warning",
        "pod names more than 100 chips",
        "its chips count as free while its request is subtracted: the node looks unstable",
        "correct the annotation huawei.com/AscendReal of the pod",
    ),
    "S324": Code(
        "error",
        "Ascend950 node without a complete DeviceID map",
        "the scheduler plugin does not see the node at all",
        "restart the Ascend Device Plugin of the node: it writes the DeviceIDs at start only",
    ),
    "S325": Code(
        "error",
        "device row with UpdateTime 0",
        "the row is ignored: no NPU of the node can be used",
        _ASK_PLUGIN,
    ),
    "S326": Code(
        "error",
        "bad chip name in a list",
        "one bad name makes the scheduler read the whole list as empty",
        _ASK_PLUGIN,
    ),
    "S327": Code(
        "warning",
        "-Fault cannot be decoded",
        "sub-health of the node's cards is not seen",
        _ASK_PLUGIN,
    ),
    "S328": Code(
        "info",
        "link-down rule applied",
        "chips with code 81078603 at level NotHandleFault count as network-unhealthy, as for 20 s in a live scheduler",
        "leave out --link-down apply to see the state without it",
    ),
    "S329": Code(
        "warning",
        "SuperPoD node without SuperPodID",
        "an absent id counts as SuperPoD 0, so all such nodes form one SuperPoD",
        "update the Ascend Device Plugin (6.0 or later)",
    ),
    "S330": Code(
        "warning",
        "blanks in keys or chip names",
        "the scheduler takes them literally, and a list with a blank counts as empty; they are removed here",
        "remove the blanks",
    ),
    "S331": Code(
        "warning",
        "chip lists contradict each other",
        "the scheduler uses the lists as they are",
        _ASK_PLUGIN,
    ),
    "S332": Code(
        "warning",
        "pod scheduled more than 5 minutes ago, chips not mounted",
        "its chips are reserved but the container does not run",
        "look at the events of the pod",
    ),
    "S333": Code(
        "info",
        "ranks given in name order",
        "the scheduler gives such pods the free ranks in random order",
        "nothing",
    ),
    "S334": Code(
        "warning",
        "chip named by two pods",
        "one of the pods may run on a chip that it does not own",
        "compare huawei.com/AscendReal of the pods with npu-smi on the node",
    ),
    "S335": Code(
        "warning",
        "pod names another number of chips than it requests",
        "free list and idle count of the node disagree: the node may be refused as unstable",
        "compare the request with the annotations of the pod",
    ),
    "S336": Code(
        "warning",
        "number of chips differs from the capacity",
        "the node is refused as unstable when its list is longer than the capacity",
        "restart kubelet and the Ascend Device Plugin of the node",
    ),
    "S337": Code(
        "warning",
        "label accelerator names another chip type than the capacity",
        "faults of the cards are looked up under the wrong name: sub-health is not seen",
        "correct the label accelerator of the node",
    ),
    "S338": Code(
        "info",
        "DeviceIDs of a pod translated to chip ids",
        "the scheduler itself does not translate: it takes such chips for free until the pod is mounted",
        "leave out the translation to see what the scheduler sees",
    ),
    "S339": Code(
        "warning",
        "scheduler parameter that is not usable",
        "the scheduler takes its default, or leaves out the resource tree, without a word",
        "correct the arguments of init-params in volcano-scheduler-configmap",
    ),
}

_WRITE_AGAIN = "correct resource-level-config in the arguments of init-params"
_LABEL = "label the nodes, or lay a CSV file of labels over the dump with --topology-csv"
_HYPERNODES = "correct the HyperNode objects"

CODES |= {
    "ML-C02": Code(
        "error",
        "resource-level-config that cannot be read",
        "the scheduler loses all trees: no multi-level job is ever placed",
        "write one JSON object of trees, with texts as labels and whole numbers as reservedNode",
    ),
    "ML-C03": Code(
        "error",
        "tree whose levels are not level1 to levelm",
        "the scheduler leaves out the tree, so its nodes are refused",
        "name the levels level1, level2, ... without a gap and nothing else",
    ),
    "ML-C04": Code("error", "no tree is left", "no multi-level job is ever placed", _WRITE_AGAIN),
    "ML-C05": Code("error", "level without a label", "every node of the tree is refused", _WRITE_AGAIN),
    "ML-C06": Code(
        "error", "negative reservedNode", "the scheduler fails once reserved nodes are needed", "write 0 or more"
    ),
    "ML-C07": Code("warning", "reservedNode above level1", "it is ignored", "set it on level1 only"),
    "ML-C08": Code(
        "error",
        "label of a level that another level or the tree itself uses",
        "the levels are the same units, and placements of the tree's own label name a wrong tree",
        "give every level a label of its own",
    ),
    "ML-C09": Code(
        "error",
        "tree of more than 8 levels",
        "nodes may be given out twice when lost pods are replaced",
        "use at most 8 levels",
    ),
    "ML-C10": Code("warning", "tree without levels", "no job can be placed on it", _WRITE_AGAIN),
    "ML-C11": Code(
        "warning",
        "units no larger than their reserve",
        "their nodes are used only when nothing else is left",
        "lower reservedNode, or merge the units",
    ),
    "ML-N02": Code(
        "warning", "nodes that lack the label of a level", "a multi-level job never takes such a node", _LABEL
    ),
    "ML-N05": Code(
        "warning",
        "unit names used below different parents",
        "a job that names fewer levels takes them for one unit",
        "give every unit of a level its own name",
    ),
    "ML-N06": Code(
        "warning", "label of a level that is empty", "the nodes form a unit without a name", "give the label a value"
    ),
    "ML-H01": Code("error", "HyperNode that the API server would refuse", "it is left out", _HYPERNODES),
    "ML-H02": Code("error", "HyperNode with two parents", "Volcano takes none of the HyperNodes", _HYPERNODES),
    "ML-H03": Code("error", "HyperNodes in a circle", "Volcano takes none of the HyperNodes", _HYPERNODES),
    "ML-H04": Code(
        "warning",
        "HyperNode whose tier is not below that of its parent",
        "the parent is passed over when the tree is built",
        "give faster networks the smaller tier",
    ),
    "ML-H05": Code("warning", "member that does not exist", "it counts as empty", _HYPERNODES),
    "ML-H06": Code(
        "warning",
        "node in two HyperNodes of one tier",
        "the tree that is built knows it in the first one only",
        _HYPERNODES,
    ),
    "ML-H07": Code(
        "warning", "node in no HyperNode", "jobs that are placed on HyperNodes never take it", "list it as a member"
    ),
}
"""Codes of resource trees and HyperNodes (chapter 22 §1.3, §2.2, §7.5)."""


@dataclass(frozen=True)
class Diagnostic:
    """One thing found. `object` is "<Kind> <namespace>/<name>", `node` the node that it concerns ("" = none), `source`
    the file and the number of the object in it ("" = given in memory)."""

    code: str
    message: str
    object: str
    node: str = ""
    source: str = ""

    @property
    def severity(self) -> str:
        """error, warning or info."""
        return CODES[self.code].severity


@dataclass
class Findings:
    """Collects diagnostics during one load."""

    items: list[Diagnostic] = field(default_factory=list)

    def add(self, code: str, message: str, object: str, node: str = "", source: str = "") -> None:
        """Remember one."""
        self.items.append(Diagnostic(code, message, object, node, source))

    def sorted(self) -> tuple[Diagnostic, ...]:
        """All of them, by code, then object: the same whatever the order of the objects in the dump."""
        from ascendctl.names import natural_key

        return tuple(sorted(self.items, key=lambda d: (d.code, natural_key(d.object), d.message, d.source)))


def by_code(diagnostics: tuple[Diagnostic, ...]) -> Iterator[tuple[str, tuple[Diagnostic, ...]]]:
    """Diagnostics in groups of one code."""
    codes = dict.fromkeys(d.code for d in diagnostics)
    for code in codes:
        yield code, tuple(d for d in diagnostics if d.code == code)
