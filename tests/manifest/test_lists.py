"""Lists of objects, as kubectl prints them."""

from __future__ import annotations

import json
import textwrap

from ascendctl import load_jobs
from ascendctl.manifest.lists import objects
from ascendctl.manifest.patch import patch_texts
from ascendctl.yamlio.read import read_documents
from tests.ranks.world import a2, acjob, vcjob

HOST = "kubernetes.io/hostname"


def listed(*texts: str) -> str:
    items = "".join("- " + textwrap.indent(text, "  ")[2:] for text in texts)
    return f"apiVersion: v1\nkind: List\nitems:\n{items}metadata: {{resourceVersion: ''}}\n"


LIST = listed(acjob({"Master": (1, 8)}, name="one"), "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n",
              vcjob({"w": (2, 8)}, name="two"))  # fmt: skip


def test_jobs_of_a_list() -> None:
    assert [job.key for job in load_jobs(LIST)] == ["default/one", "default/two"]


def test_positions_start_at_the_item() -> None:
    (document,) = read_documents(LIST)
    found = objects(document)
    assert [(part.value["kind"], root) for part, root in found] == [
        ("AscendJob", ("items", 0)), ("Service", ("items", 1)), ("Job", ("items", 2)),
    ]  # fmt: skip
    assert found[2][0].marks["metadata", "name"] == document.marks["items", 2, "metadata", "name"]


def test_kinds_of_a_typed_list() -> None:
    text = "apiVersion: batch/v1\nkind: JobList\nitems:\n- metadata: {name: a}\n- 7\n"
    ((only, root),) = objects(read_documents(text)[0])
    assert (only.value["kind"], only.value["apiVersion"], root) == ("Job", "batch/v1", ("items", 0))
    assert objects(read_documents("apiVersion: v1\nkind: List\nitems:\n")[0]) == []


def test_items_are_patched_where_they_stand() -> None:
    where = a2("n1", "n2", "n3")
    new = patch_texts([("l.yaml", LIST)], where).files[0][2]
    value = read_documents(new)[0].value
    assert value["kind"] == "List"
    one, service, two = value["items"]
    assert one["spec"]["replicaSpecs"]["Master"]["template"]["spec"]["nodeSelector"][HOST] == "h-n1"
    assert service == {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    assert [t["template"]["spec"]["nodeSelector"][HOST] for t in two["spec"]["tasks"]] == ["h-n2", "h-n3"]
    assert patch_texts([("l.yaml", new)], where).files[0][2] == new


def test_a_list_in_json() -> None:
    where = a2("n1", "n2", "n3")
    text = json.dumps(read_documents(LIST)[0].value, indent=4)
    value = json.loads(patch_texts([("l.json", text)], where).files[0][2])
    assert len(value["items"][2]["spec"]["tasks"]) == 2


def test_items_as_bare_pods_become_documents() -> None:
    new = patch_texts([("l.yaml", LIST)], a2("n1", "n2", "n3"), pods=True).files[0][2]
    kinds = [d.value["kind"] for d in read_documents(new)]
    assert kinds == ["PodGroup", "Pod", "Service", "PodGroup", "Pod", "Pod"]
