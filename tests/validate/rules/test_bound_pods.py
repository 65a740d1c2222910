"""ENV-05 on Pods with nodeName, which may name their chips (chapter 50 §6.2, vectors V18 to V22)."""

from __future__ import annotations

import pytest

from ascendctl import validate
from ascendctl.validate.options import Options


def messages(annotations: str, node: str = "  nodeName: node-a\n", count: int = 2, verbose: bool = False) -> list[str]:
    text = f"""\
apiVersion: v1
kind: Pod
metadata:
  name: probe
  annotations: {{huawei.com/schedule_policy: chip8-node8, {annotations}}}
spec:
{node}  schedulerName: volcano
  restartPolicy: Never
  containers:
  - name: ascend
    image: registry.local/probe:1
    resources: {{requests: {{huawei.com/Ascend910: {count}}}, limits: {{huawei.com/Ascend910: {count}}}}}
"""
    return [f.message for f in validate(text, options=Options(verbose=verbose)) if f.rule == "ENV-05"]


def test_e_exact_chips() -> None:
    assert messages('huawei.com/Ascend910: "Ascend910-2,Ascend910-3", predicate-time: "1", hccl/rankIndex: "0"') == []


@pytest.mark.parametrize("key", ["huawei.com/Ascend910", "huawei.com/AscendReal"])
def test_v18_v19_never_where_volcano_schedules(key: str) -> None:
    (message,) = messages(f'{key}: "Ascend910-2,Ascend910-3"', node="")
    assert key in message


def test_v20_as_many_names_as_the_pod_asks_for() -> None:
    (message,) = messages('huawei.com/Ascend910: "Ascend910-2,Ascend910-3,Ascend910-4"')
    assert "names 3 NPUs, the pod asks for 2" in message


def test_v21_the_mark_of_mounted_pods() -> None:
    (message,) = messages('predicate-time: "18446744073709551615"')
    assert "would get none" in message


def test_v22_the_list_of_a_whole_node_is_ignored() -> None:
    listed = ",".join(f"Ascend910-{i}" for i in range(8))
    (message,) = messages(f'huawei.com/Ascend910: "{listed}"', count=8, verbose=True)
    assert message.startswith("the pod takes all 8 NPUs of its node")
    assert messages(f'huawei.com/Ascend910: "{listed}"', count=8) == []
