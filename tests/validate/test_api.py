"""Inputs, counts, options, config files, comments, many processes."""

from __future__ import annotations

import gzip
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest

from ascendctl import validate
from ascendctl.validate.api import find_inputs, inspect
from ascendctl.validate.options import OptionError, Options
from ascendctl.validate.reporters import render
from ascendctl.yamlio.errors import ReadError
from tests.validate.manifests import ascend_job, change, deployment, pod, rules, volcano_job

GOOD = json.dumps(pod())
BAD = json.dumps(change(pod(), {"/spec/containers/0/image": ""}))


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# ------------------------------------------------------------------------------------------------- inputs
def test_paths_folders_globs_and_gzip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "a/x.yaml", BAD)
    write(tmp_path, "a/b/y.yml", BAD)
    write(tmp_path, "a/z.json.gz", gzip.compress(BAD.encode()))
    write(tmp_path, "a/.hidden/h.yaml", BAD)
    write(tmp_path, "a/t.yaml.j2", "{{ x }}")
    write(tmp_path, "a/notes.txt", "text")
    assert [f.file for f in validate("a")] == ["a/b/y.yml", "a/x.yaml", "a/z.json.gz"]
    assert [f.file for f in validate(["./a/x.yaml", "a/*.yaml", "a/x.yaml"])] == ["a/x.yaml"]
    assert [f.file for f in validate("a/**/*.yml")] == ["a/b/y.yml"]
    assert [f.file for f in validate(Path("a/x.yaml"))] == ["a/x.yaml"]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def stdin(data: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))

    stdin(BAD.encode())
    assert [f.file for f in validate("-")] == ["<stdin>"]
    stdin(gzip.compress(BAD.encode()))
    assert [f.file for f in inspect("-", stdin_filename="job.yaml").findings] == ["job.yaml"]


def test_text_in_place_of_a_path() -> None:
    assert [(f.file, f.rule) for f in validate(BAD)] == [("<text>", "K8S-06")]


@pytest.mark.parametrize("name", ["missing.yaml", "empty", "*.yaml"])
def test_nothing_to_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ReadError):
        validate(str(tmp_path / name))
    if name != "missing.yaml":
        assert inspect(str(tmp_path / name), allow_empty=True).summary["files"] == 0


def test_an_unreadable_file_among_others(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", BAD)
    write(tmp_path, "b.yaml.gz", gzip.compress(BAD.encode())[:-12])
    report = inspect(str(tmp_path))
    assert report.exit_code == 2
    assert len(report.findings) == 1
    assert [file.rpartition("/")[2] for file, _ in report.unreadable] == ["b.yaml.gz"]
    with pytest.raises(ReadError):
        validate(str(tmp_path))


def test_empty_files_are_fine_and_counted(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", "")
    write(tmp_path, "b.yaml", "# nothing\n---\n")
    report = inspect(str(tmp_path))
    assert report.summary["files"] == 2
    assert report.summary["documents"] == 0
    assert report.exit_code == 0


def test_counts_and_exit_codes(tmp_path: Path) -> None:
    secret = json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}})
    cluster = json.dumps(
        {"apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": {"a": {"containers": [{"name": "a", "image": "b"}]}}}
    )
    report = inspect("# three\n" + "\n---\n".join((BAD, secret, cluster)))
    assert report.summary == {
        "files": 1, "documents": 3, "errors": 1, "warnings": 1, "infos": 0, "skipped": 1, "partial": 1,
    }  # fmt: skip
    assert report.exit_code == 1
    assert inspect(GOOD).exit_code == 0
    warned = json.dumps(change(pod(), {"/metadata/annotations/sp-block": "8"}))
    assert inspect(warned).exit_code == 0
    assert inspect(warned, Options(strict=True)).exit_code == 1


# ------------------------------------------------------------------------------------------------- options
def test_what_counts_as_skipped() -> None:
    def count(*documents: dict[str, Any]) -> int:
        return inspect("# text\n" + "\n---\n".join(map(json.dumps, documents))).summary["skipped"]

    meta = {"metadata": {"name": "a"}}
    assert count({"apiVersion": "v1", "kind": "Service", **meta}) == 1
    assert count({"apiVersion": "x/v1", "kind": "Mystery", **meta}) == 1
    assert count({"apiVersion": "v1", "kind": "ConfigMap", **meta}) == 1
    assert count({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "rings-config-a"}}) == 0
    assert count({"apiVersion": "v1", "kind": "AscendJob", **meta}) == 0
    assert count({"kind": "Pod", **meta}) == 0
    assert count({"apiVersion": "v1", "kind": "List", "items": None}) == 0


def test_infos_need_verbose() -> None:
    text = json.dumps(change(pod(), {"/spec/hostNetwork": True}))
    assert validate(text) == []
    assert {f.rule for f in validate(text, options=Options(verbose=True))} == {"ENV-04", "K8S-18"}


def test_severities_and_disabled_rules() -> None:
    assert inspect(BAD, Options(severities={"K8S-06": "warning"})).count("warning") == 1
    assert validate(BAD, options=Options(severities={"K8S-06": "off"})) == []
    assert validate(BAD, options=Options(disabled=frozenset({"K8S-06"}))) == []


@pytest.mark.parametrize(
    "options",
    [
        Options(volcano="2.0"),
        Options(dialect="other"),
        Options(disabled=frozenset({"K8S-99"})),
        Options(severities={"K8S-06": "fatal"}),
        Options(product="a33"),
        Options(grace_over_time=0),
    ],
)
def test_options_that_make_no_sense(options: Options) -> None:
    with pytest.raises(OptionError):
        validate(GOOD, options=options)


def test_a_rule_that_was_meant_is_named() -> None:
    with pytest.raises(OptionError, match="K8S-06"):
        validate(GOOD, options=Options(disabled=frozenset({"K8S-6"})))


def test_skipped_kinds() -> None:
    report = inspect(BAD, Options(skip_kinds=frozenset({"Pod"})))
    assert report.findings == ()
    assert report.summary["skipped"] == 1


def test_the_given_super_pod_size_is_used() -> None:
    limits = {"huawei.com/npu": 8}
    base = change(
        volcano_job(),
        {
            "/metadata/annotations/huawei.com~1schedule_policy": "chip8-node8-ra64-sp",
            "/metadata/annotations/sp-block": "16",
            "/spec/tasks/0/template/spec/containers/0/resources": {"limits": limits, "requests": limits},
            "/spec/tasks/0/template/spec/containers/0/env": [],
        },
    )
    assert [(f.rule, f.severity) for f in validate(json.dumps(base)) if f.rule == "RAB-08"] == [("RAB-08", "warning")]
    assert "RAB-08" not in rules(base, super_pod_size=8)
    given = [f.severity for f in validate(json.dumps(base), options=Options(super_pod_size=1)) if f.rule == "RAB-08"]
    assert given == ["error"]


# ------------------------------------------------------------------------------------------------- config files
def test_the_nearest_config_file_counts(tmp_path: Path) -> None:
    write(tmp_path, ".ascendctl.yaml", "severity:\n  K8S-06: warning\n")
    write(tmp_path, "a/b/x.yaml", BAD)
    assert [f.severity for f in validate(str(tmp_path / "a"))] == ["warning"]
    write(tmp_path, "a/c/.ascendctl.yaml", "disable: [K8S-06]\n")
    write(tmp_path, "a/c/y.yaml", BAD)
    assert len(validate(str(tmp_path / "a"))) == 1
    assert len(inspect(str(tmp_path / "a"), use_config=False).findings) == 2


def test_given_options_win_over_the_config_file(tmp_path: Path) -> None:
    write(tmp_path, ".ascendctl.yaml", "severity: {K8S-06: off}\nstrict: true\nvolcano: 1.9\n")
    path = write(tmp_path, "x.yaml", BAD)
    assert validate(str(path)) == []
    assert len(validate(str(path), options=Options(severities={"K8S-06": "error"}))) == 1


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("strict: true\nstrikt: true\n", ":2:1: unknown key 'strikt'"),
        ("strict: maybe\n", ":1:1: strict must be true or false"),
        ("severity:\n  K8S-99: error\n", ":2:3: no rule K8S-99"),
        ("severity:\n  K8S-06: fatal\n", ":1:1: severity must be"),
        ("disable:\n- K8S-6\n", ":2:3: no rule K8S-6"),
        ("a: [\n", ":2:1: not readable"),
    ],
)
def test_config_files_that_make_no_sense(tmp_path: Path, text: str, place: str) -> None:
    write(tmp_path, ".ascendctl.yaml", text)
    path = write(tmp_path, "x.yaml", GOOD)
    with pytest.raises(OptionError) as caught:
        validate(str(path))
    assert place in str(caught.value)


# ------------------------------------------------------------------------------------------------- comments
JOB = """apiVersion: v1
kind: Pod
metadata:
  name: try
  namespace: a
spec:
  containers:
  - name: a
    image: ""{same}
  - name: b{above}
    image: ""
"""


def job(top: str = "", same: str = "", above: str = "") -> str:
    return top + JOB.format(same=same, above=above)


DISABLE = "# ascendctl: disable=K8S-06 tested elsewhere"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (job(), [9, 11]),
        (job(same=f"  {DISABLE}"), [11]),
        (job(above=f"\n    {DISABLE}\n    # and more"), [9]),
        (job(top=DISABLE + "\n"), []),
        (job(top="# about\n" + DISABLE + "\n\n"), []),
        (job(top="--- " + DISABLE + "\n"), []),
        (job(same="  # ascendctl: disable=K8S-05,K8S-06"), [11]),
    ],
)
def test_comments_switch_rules_off(text: str, lines: list[int]) -> None:
    assert [f.line for f in validate(text) if f.rule == "K8S-06"] == lines


def test_a_comment_at_the_top_counts_for_its_document_only() -> None:
    found = validate(job(top=DISABLE + "\n") + "---\n" + job().replace("name: try", "name: other"))
    assert [(f.document, f.rule) for f in found] == [(1, "K8S-06")] * 2


def test_comments_that_do_nothing_are_reported() -> None:
    unknown = job(same="  # ascendctl: disable=K8S-66")
    assert [(f.rule, f.line, f.severity) for f in validate(unknown) if f.rule.startswith("CMT")] == [
        ("CMT-01", 9, "warning")
    ]
    unused = job(same="  # ascendctl: disable=SPB-13")
    assert [(f.rule, f.line) for f in validate(unused) if f.rule.startswith("CMT")] == [("CMT-02", 9)]
    used = job(same=f"  {DISABLE}")
    assert not [f for f in validate(used) if f.rule.startswith("CMT")]


def test_text_that_only_looks_like_a_comment() -> None:
    inside = job(same='\n    args: ["# ascendctl: disable=K8S-06"]')
    block = job(same="\n    args:\n    - |\n      # ascendctl: disable=K8S-06\n      run")
    glued = job(same="\n    args: [a#ascendctl:disable=K8S-06]")
    for text in (inside, block, glued):
        found = validate(text)
        assert [f.rule for f in found] == ["K8S-06", "K8S-06"], text


# ------------------------------------------------------------------------------------------------- files together
def test_companions_in_other_files(tmp_path: Path) -> None:
    base = change(pod(), {"/spec/containers/0/envFrom": [{"configMapRef": {"name": "settings"}}]})
    write(tmp_path, "job.yaml", json.dumps(base))
    assert [f.rule for f in validate(str(tmp_path))] == ["RTB-06"]
    named = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "research"}}
    write(tmp_path, "settings.yaml", json.dumps(named))
    assert validate(str(tmp_path)) == []


def test_variants_of_a_job_in_a_folder_do_not_clash(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", json.dumps(ascend_job()))
    write(tmp_path, "b.yaml", json.dumps(ascend_job()))
    write(tmp_path, "c.yaml", json.dumps(change(deployment(), {"/metadata/name": "train"})))
    assert validate(str(tmp_path)) == []


def test_the_number_of_processes_changes_nothing(tmp_path: Path) -> None:
    chance = random.Random(5)
    bases: list[Any] = [ascend_job(), volcano_job(), deployment(2), pod()]
    for number in range(60):
        value = change(chance.choice(bases), {"/metadata/name": f"n{number}"})
        if chance.random() < 0.5:
            value = change(value, {"/metadata/labels/rev": chance.choice([7, "x y", None])})
        write(tmp_path, f"{number % 7}/{number}.yaml", json.dumps(value))
    write(tmp_path, "bad.yaml.gz", b"\x1f\x8b broken")
    options = Options(verbose=True)
    one, two, three = (inspect(str(tmp_path), options, workers=count) for count in (1, 2, 3))
    assert one == two == three
    assert len(one.findings) > 10
    assert render(one, "sarif") == render(three, "sarif")


def test_progress_counts_every_file(tmp_path: Path) -> None:
    for number in range(25):
        write(tmp_path, f"{number}.yaml", GOOD)
    for workers in (1, 2):
        seen: list[int] = []
        inspect(str(tmp_path), workers=workers, progress=seen.append)
        assert sum(seen) == 25


def test_a_file_given_twice_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "a.yaml", GOOD)
    assert [item.shown for item in find_inputs(["a.yaml", "./a.yaml", "."])] == ["a.yaml"]


def test_importing_validate_needs_neither_numpy_nor_jsonschema() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from ascendctl import validate; "
        f"assert validate({GOOD!r}) == []; "
        "print(sorted({'numpy', 'jsonschema', 'ruamel', 'click', 'numba'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert out.stdout.strip() == "[]"
