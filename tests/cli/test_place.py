"""`ascendctl place` and `patch` where a pod is bound without the NPUs that it asks for (chapter 21 §10)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.cli.world import run

SAMPLE = Path(__file__).parents[2] / "samples" / "950-superpod"


def faulty_dump(folder: Path) -> Path:
    """The sample's dump with a network fault on a chip of the rack where the job goes."""
    shutil.copytree(SAMPLE / "dump", folder / "dump")
    path = folder / "dump" / "configmaps.yaml"
    text = path.read_text(encoding="utf-8")
    head, tail = text.split("mindx-dl-deviceinfo-a950-s1r0-3", 1)
    tail = tail.replace('"huawei.com/npu-NetworkUnhealthy":""', '"huawei.com/npu-NetworkUnhealthy":"npu-4"', 1)
    path.write_text(head + "mindx-dl-deviceinfo-a950-s1r0-3" + tail, encoding="utf-8")
    return folder / "dump"


def test_a_pod_without_its_npus_is_no_success(tmp_path: Path) -> None:
    job, dump = SAMPLE / "one-rack.yaml", faulty_dump(tmp_path)
    text = "pod dense-200b-worker-2 is bound without NPUs: NPUResourceShortage: selectNPUFromNode node<a950-s1r0-3>"
    shown = run("place", job, "-s", dump)
    assert shown.exit_code == 1 and text in shown.stdout
    assert run("place", job, "-s", dump, "-q").stdout == shown.stdout
    document = json.loads(run("place", job, "-s", dump, "-o", "json").stdout)
    assert (document["outcome"], document["metrics"]["podsWithoutNpus"]) == ("placed", ["dense-200b-worker-2"])
    assert [len(pod["npus"]) for pod in document["pods"]] == [8, 8, 8, 0]
    patched = run("patch", job, "-s", dump)
    assert (patched.exit_code, patched.stdout) == (1, "") and text in patched.stderr
    table = run("ranktable", job, "-s", dump)
    assert (table.exit_code, table.stdout) == (1, "")
