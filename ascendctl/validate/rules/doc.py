"""Rules on documents as such, DOC-* (chapter 40 §3.2, §8). Reading finds DOC-01, 12, 15 and 17, the schemas DOC-06, 07,
09 to 11 and 14; the others are here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ascendctl.validate.entry import HALF, Entry, PodView
from ascendctl.validate.keys import ANNOTATION, LABEL, SELECTOR, by_name, nearest_key
from ascendctl.validate.placeholders import is_placeholder, shorten
from ascendctl.validate.rule import Rule, Violation
from ascendctl.yamlio.document import FieldPath, format_path

RULES: tuple[Rule, ...] = (
    Rule(
        "DOC-01",
        "error",
        "kubectl could not read the text, or reads something that nobody meant",
        "{problem}",
        outcome="API",
        source="chapter 40 §8",
        about="Syntax errors, tabs as indentation, text that is not UTF-8, control characters, a document that is no "
        "mapping, duplicate keys, unknown aliases, alias bombs, deep nesting, directives, .inf and .nan.",
        wrong="metadata:\n  name: a\n  name: b",
        right="metadata:\n  name: b",
    ),
    Rule(
        "DOC-02",
        "error",
        "apiVersion or kind is missing, empty or no string",
        "{key} is missing: nothing says what the document is",
        "write {key}: ...",
        outcome="API",
        wrong="kind: AscendJob",
        right="apiVersion: mindxdl.gitee.com/v1\nkind: AscendJob",
    ),
    Rule(
        "DOC-03",
        "error",
        "a known kind stands under a wrong apiVersion (error); an unknown kind has pod templates "
        "inside (warning) or none (info)",
        "apiVersion and kind name nothing that is known",
        outcome="API",
        about="Plain companions such as Service, Secret or Role are passed over in silence and counted.",
        wrong="apiVersion: batch.volcano.sh/v1beta1\nkind: Job",
        right="apiVersion: batch.volcano.sh/v1alpha1\nkind: Job",
    ),
    Rule(
        "DOC-04",
        "error",
        "two documents of one file have the same kind, namespace and name",
        "{object} stands twice in this file, first at line {first}: the second replaces the first",
        "rename one of the two",
        about="Folders may hold variants of one job under one name; one file may not.",
        wrong="metadata:\n  name: train\n---\nmetadata:\n  name: train",
        right="metadata:\n  name: train-2",
    ),
    Rule(
        "DOC-05",
        "warning",
        "a shell script still holds carriage returns after parsing",
        "{path}: a carriage return reaches the shell",
        "convert the script to LF line ends",
        outcome="RUN",
        about="CR LF line ends of the YAML file itself do no harm: every reader folds them. A \\r in a double-quoted "
        "or JSON string stays.",
        wrong='args: ["set -e\\r\\npython train.py\\r\\n"]',
        right='args: ["set -e\\npython train.py\\n"]',
    ),
    Rule(
        "DOC-06",
        "warning",
        "a field is not in the schema of its kind (an error with --strict)",
        "unknown field {path}: kubectl refuses it since 1.25, other clients drop it silently",
        "remove it",
        outcome="API",
        about="A warning only, because the definition in the cluster may be newer than the one that "
        "ships with this program.",
        wrong="spec:\n  queue: default    # AscendJob",
        right="spec:\n  runPolicy:\n    schedulingPolicy:\n      queue: default",
    ),
    Rule(
        "DOC-07",
        "error",
        "a label, annotation or nodeSelector value is a number, a list or a mapping",
        "{path} must be a string, found {found} ({text}{read})",
        'write {key}: "{text}"',
        outcome="API",
        about="In an AscendJob template the server lets it through, and then the operator cannot decode the job.",
        wrong="sp-block: 16",
        right='sp-block: "16"',
    ),
    Rule(
        "DOC-08",
        "error",
        "a label, annotation or nodeSelector value is a word that YAML 1.1 reads as true, false or "
        "null (null: info for keys that nobody here reads)",
        "{path}: {text} is read as {read}, not as a text",
        'quote it: {key}: "{text}"',
        outcome="API",
        about="The words are y, yes, on, true, n, no, off, false in lower, capitalised and upper case, and null, ~. A "
        "null is stored as the empty string.",
        wrong="pod-rescheduling: on",
        right='pod-rescheduling: "on"',
    ),
    Rule(
        "DOC-09",
        "error",
        "an integer field holds something else, or a number out of range",
        "{path} must be an integer, found {text}",
        outcome="API",
        about='2.0, 1e3, 0o600 and 0x10 are integers for the server; "3" is not.',
        wrong='replicas: "3"',
        right="replicas: 3",
    ),
    Rule(
        "DOC-10",
        "error",
        "a string is not one of the values that its field takes, or longer or of other characters than it takes",
        "{path} has a value that its field does not take",
        outcome="API",
        wrong="topologyPolicy: best",
        right="topologyPolicy: best-effort",
    ),
    Rule(
        "DOC-11",
        "error",
        "a field that must be a string holds a number, a boolean, a list or a mapping",
        "{path} must be a string, found {text}{read}",
        'write "{text}"',
        outcome="API",
        wrong="env:\n- name: EPOCHS\n  value: 90",
        right='env:\n- name: EPOCHS\n  value: "90"',
    ),
    Rule(
        "DOC-12",
        "error",
        "the document does not parse and holds template markers",
        "{problem}",
        "render it first (helm template, jinja2)",
        wrong="replicas: {{ .Values.replicas }}",
        right="replicas: 4",
    ),
    Rule(
        "DOC-13",
        "warning",
        "a text looks like a placeholder that was never filled in",
        "{path} looks like a placeholder that was never filled in: {text}",
        "put the real value there",
        outcome="RUN",
        about="$(NAME) is Kubernetes' own syntax, and commands, arguments and environment values are left alone.",
        wrong="image: <your-image>",
        right="image: registry.local/train:1.0",
    ),
    Rule(
        "DOC-14",
        "error",
        "a mapping or a list is expected, and something else is there",
        "{path} must be {what}, found {found}",
        outcome="API",
        wrong="limits: huawei.com/npu:4",
        right="limits:\n  huawei.com/npu: 4",
    ),
    Rule(
        "DOC-15",
        "warning",
        "a merge key << stands after a key that it also brings",
        "{problem}",
        "put << first",
        about="kubectl lets the later one win, YAML tools in general the explicit key.",
        wrong="replicas: 2\n<<: *defaults",
        right="<<: *defaults\nreplicas: 2",
    ),
    Rule(
        "DOC-16",
        "warning",
        "a key is nearly one that is read, or stands in the wrong map",
        "nobody reads {key}",
        "did you mean {nearest}?",
        outcome="IGN",
        wrong="huawei.com/schedulepolicy: chip8-node8",
        right="huawei.com/schedule_policy: chip8-node8",
    ),
    Rule(
        "DOC-17",
        "error",
        "text that kubectl never sees: behind a ... line, or between lines that end in a bare CR",
        "{problem}",
        wrong="kind: Pod\n...\nspec: {}",
        right="kind: Pod\nspec: {}",
    ),
)

_SHELLS = re.compile(r"(?:^|/)(?:ba|da|a|z|k|c|tc)?sh$")
_SCRIPT_NAME = re.compile(r"\.(?:ba|z|k)?sh$")
_LITERAL_FIELDS = frozenset(("command", "args", "env", "data", "binaryData", "status", "managedFields"))
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_MISPLACED_GROUPS = frozenset("ABCEI")
_MISPLACED = frozenset(("framework", "scaleout-type", "deploy-name", "accelerator-type", "servertype", "server-usage"))
_NOT_MISPLACED = frozenset(("host-arch", "accelerator"))
_QUOTAS = "huawei.com/scheduler.softShareDev."


def check(entry: Entry) -> Iterator[Violation]:
    """DOC-05, DOC-07 and 08 on keys, DOC-13, DOC-16 of one object. What stands on an exported pod came from its
    template, or from the system."""
    yield from script_returns(entry)
    yield from _changed_keys(entry)
    if entry.case != HALF:
        yield from _placeholders(entry.value, ())
        if entry.title != "Pod" or entry.get("metadata", "uid") is None:
            yield from _key_maps(entry)


def duplicates(entries: Sequence[Entry]) -> Iterator[tuple[Entry, Violation]]:
    """DOC-04: objects of one file that share kind, namespace and name."""
    first: dict[tuple[str, str, str, str], Entry] = {}
    for entry in entries:
        name = entry.get("metadata", "name")
        if not isinstance(name, str) or not name:
            continue
        key = (entry.api_version.rpartition("/")[0], entry.kind_name, entry.namespace, name)
        if key in first:
            values = {"object": entry.object, "first": first[key].line}
            yield entry, Violation("DOC-04", ("metadata", "name"), values)
        else:
            first[key] = entry


def script_returns(entry: Entry) -> Iterator[Violation]:
    """DOC-05."""
    if entry.kind_name == "ConfigMap":
        data = entry.get("data")
        for key, text in data.items() if isinstance(data, Mapping) else ():
            if isinstance(text, str) and "\r" in text and (_SCRIPT_NAME.search(key) or text.startswith("#!")):
                yield Violation("DOC-05", ("data", key), {"path": format_path(("data", key))})
    for pod in entry.pods:
        for path, container in (*pod.containers, *pod.init_containers):
            words = [
                ((*path, part, i), word)
                for part in ("command", "args")
                for i, word in enumerate(container.get(part) or ())
                if isinstance(word, str)
            ]
            if not any(_SHELLS.search(word) for _, word in words[:1]):
                continue
            for at, word in words:
                if "\r" in word:
                    yield Violation("DOC-05", at, {"path": format_path(at)})


def _changed_keys(entry: Entry) -> Iterator[Violation]:
    """Keys of labels and the like that YAML turns into something else: on -> "true", 010 -> "8"."""
    for path, mark in entry.document.marks.items():
        if (
            mark.key_text is None
            or len(path) < 2
            or path[-2] not in ("labels", "annotations", "nodeSelector", "matchLabels")
        ):
            continue
        word = path[-1] in ("true", "false")
        yield Violation(
            "DOC-08" if word else "DOC-07", path, {},
            message=f"the key {mark.key_text} is read as {path[-1]}", hint=f'quote it: "{mark.key_text}":',
        )  # fmt: skip


def _placeholders(value: Any, path: FieldPath) -> Iterator[Violation]:
    if isinstance(value, str):
        if is_placeholder(value):
            yield Violation("DOC-13", path, {"path": format_path(path), "text": shorten(value)})
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in _LITERAL_FIELDS and key != _LAST_APPLIED:
                yield from _placeholders(item, (*path, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _placeholders(item, (*path, i))


def key_maps(entry: Entry) -> Iterator[tuple[FieldPath, str, Mapping[str, Any], PodView | None]]:
    """Every map of labels, annotations and node selectors of an object: (path, which, map, pod template or None)."""
    seen = set()
    spots: list[tuple[FieldPath, PodView | None]] = [(pod.meta, pod) for pod in entry.pods]
    spots.append((("metadata",), None))
    if entry.kind_name in ("InferServiceSet", "InferService", "InstanceSet"):
        roles = {pod.path[:-2] for pod in entry.pods}
        spots += [((*role, "metadata"), None) for role in sorted(roles, key=str)]
    for meta, owner in spots:
        if meta in seen:
            continue
        seen.add(meta)
        for part, which in (("labels", LABEL), ("annotations", ANNOTATION)):
            found = entry.get(*meta, part)
            if isinstance(found, dict):
                yield (*meta, part), which, found, owner
    for pod in entry.pods:
        selector = pod.body.get("nodeSelector")
        if isinstance(selector, dict):
            yield (*pod.spec, "nodeSelector"), SELECTOR, selector, pod


def _key_maps(entry: Entry) -> Iterator[Violation]:
    for path, which, found, owner in key_maps(entry):
        for key in found:
            rows = by_name().get(key, ())
            places = {row.place for row in rows}
            if not rows:
                near = nearest_key(key)
                if near:
                    yield Violation("DOC-16", (*path, key), {"key": key, "nearest": near})
            elif which not in places and places & {LABEL, ANNOTATION, SELECTOR} and _is_misplaced(key, which):
                yield _misplaced(path, key, which, sorted(places)[0], owner)


def _is_misplaced(key: str, which: str) -> bool:
    if which == SELECTOR or key in _NOT_MISPLACED or key.startswith(_QUOTAS):
        return False
    return key in _MISPLACED or any(row.group in _MISPLACED_GROUPS for row in by_name()[key] if row.user)


def _misplaced(path: FieldPath, key: str, which: str, place: str, owner: PodView | None) -> Violation:
    words = {LABEL: "labels", ANNOTATION: "annotations", SELECTOR: "nodeSelector"}
    if place != SELECTOR:
        target = format_path((*path[:-1], words[place], key))
    elif owner is not None:
        target = format_path((*owner.spec, "nodeSelector", key))
    else:
        target = f"nodeSelector of the pod template, as {key}"
    return Violation(
        "DOC-16", (*path, key), {},
        message=f"nobody reads {key} among the {words[which]}: it is read from {words[place]} only",
        hint=f"move it to {target}",
    )  # fmt: skip
