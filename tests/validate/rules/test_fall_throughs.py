"""Where the scheduler quietly uses another policy than the author meant: `validate` says which one runs, and what to write
instead (chapter 10 §4, §12; chapter 11.5, 11.18, 11.20)."""

from __future__ import annotations

from typing import Any

import pytest

from ascendctl.engine.select import select_policy
from ascendctl.manifest.load import load_jobs
from tests.validate.manifests import A910, NPU, change, findings, text_of
from tests.validate.rules.test_card_limits import A310, A310P, CARD, CORE, DUO, H, made, quota

POLICY = "/metadata/annotations/huawei.com~1schedule_policy"
SP_BLOCK = "/metadata/annotations/sp-block"
SECOND = "/spec/tasks/1/template/spec/nodeSelector"


def accelerator(value: str) -> dict[str, str]:
    return {"accelerator-type": value}


def block(manifest: dict[str, Any], value: str) -> dict[str, Any]:
    return change(manifest, {SP_BLOCK: value})


CASES = [
    # (manifest, rule, policy that runs, words of the message, words of the hint)
    (made(A910, 8, policy="chip8-node-8"), "SEL-01", "module", "the policy module", "chip8-node8"),
    (made(A910, 8, policy="Chip8-node8"), "SEL-01", "module", "the policy module", "chip8-node8"),
    (made(A910, 8, policy="unknown", selector=accelerator("module-910b-16")), "SEL-01", "chip8-node16",
     "the policy chip8-node16", "chip8-node8"),
    (made(A910, 8, policy="unknown", selector=accelerator("350-Atlas-8")), "SEL-01", "", "no policy", "chip8-node8"),
    (block(made(A910, 16, policy="unknown"), "16"), "SEL-01", "chip2-node16-sp", "the policy chip2-node16-sp", "chip8-node8"),
    (made(NPU, 8, policy="unknown"), "SEL-01", "module", "the policy module", "chip8-node8-ra64-sp"),
    (change(made(NPU, 8), {POLICY: ""}), "SEL-01", "module", "the policy module", "chip8-node8-ra64-sp"),
    (made(A910, 30, policy="chip1-softsharedev"), "SEL-01", "module", "the policy module", "chip1-softShareDev"),
    (made(NPU, 8), "SEL-02", "", "must name its policy", "chip8-node8 (Atlas 850"),
    (block(made(NPU, 8), "8"), "SEL-02", "", "must name its policy", "chip8-node8-sp"),
    (made(A910, 8, selector=accelerator("350-Atlas-8")), "SEL-03", "", "selects no policy", "huawei.com/npu"),
    (made(A910, 1, selector=accelerator("module-910b-9")), "SEL-03", "", "selects no policy", "module-910b-8"),
    (made(A910, 1, selector=accelerator("card-910b-3x")), "SEL-03", "chip1-node2", "the policy chip1-node2", "card"),
    (made(A910, 8), "SEL-04", "module", "Atlas 800 (9000)", "chip8-node8"),
    (change(made(A910, 1, 1, selector=accelerator("half")), {SECOND: accelerator("card")}), "SEL-05", "chip1-node2",
     "the policy chip1-node2", "all pods"),
    (change(made(A910, 1, 1, selector=accelerator("module")), {SECOND: accelerator("half")}), "SEL-05", "",
     "no policy", "all pods"),
    (change(made(A910, 8, 8, policy="chip8-node8", selector=accelerator("module-910b-8")), {SECOND: accelerator("half")}),
     "SEL-05", "chip8-node8", "the policy chip8-node8", "all pods"),
    (made(NPU, 8, policy="chip8-node8", selector=accelerator("350-Atlas-8")), "SEL-06", "chip8-node8",
     "policy is chip8-node8", "chip1-node8"),
    (made(NPU, 16, policy="chip2-node16"), "SEL-07", "chip2-node16", "policy chip2-node16", "ask for huawei.com/Ascend910"),
    (made(A910, 8, policy="chip1-node8"), "SEL-07", "chip1-node8", "policy chip1-node8", "ask for huawei.com/npu"),
    (made(A910, 8, policy="chip2-node8"), "SEL-12", "chip2-node16", "accepts up to 16", "8 NPUs"),
    (made(A910, 16, policy="module-a3-16"), "SEL-12", "chip2-node16", "alias of chip2-node16", "chip2-node16"),
    (made(A310P, 1, policy="chip8-node8"), "SEL-13", "310P", "the policy 310P", "remove"),
    (made(CORE, 4, policy="chip8-node8", labels={"ring-controller.atlas": "ascend-310P"}), "SEL-13", "vnpu-310P",
     "the policy vnpu-310P", "remove"),
    (made(A910, 4, policy="chip4-node8"), "SEL-17", "chip4-node8", "4-chip meshes", "remove schedule_policy"),
    (made(A910, 4, policy="chip4-node8", selector=accelerator("module")), "SEL-17", "chip4-node8", "4-chip meshes",
     "remove schedule_policy"),
    (block(made(A910, 16, policy="chip2-node16"), "16"), "SPB-10", "chip2-node16", "chip2-node16 ignores", "chip2-node16-sp"),
    (block(made(A910, 16), "16"), "SPB-11", "chip2-node16-sp", "policy chip2-node16-sp", "chip2-node16-sp"),
    (block(made(A910, 8, selector=accelerator("module-910b-8")), "8"), "SPB-11", "chip2-node16-sp",
     "policy chip2-node16-sp", "chip8-node8"),
    (made(A310, 1, labels={"npu-310-strategy": "cards"}), "D31-01", "", "no policy", "card or chip"),
    (made(A310P, 1, labels=DUO | {"npu-310-strategy": "cards"}), "D31-02", "310P", "plain 310P policy", "card or chip"),
    (made(A310P, 1, labels={"duo": "True"}), "D31-05", "310P", "plain 310P policy", 'duo: "true"'),
    (made(A310P, 1, labels={"duo": "false"} | CARD), "D31-05", "310P", "plain 310P policy", 'duo: "true"'),
    (made(A310P, 2, labels=CARD), "D31-10", "310P", "plain 310P policy", 'duo: "true"'),
    (made(A310P, 2, labels=DUO | {"distributed": "True"}), "D31-12", "duo-chip", "not distributed", '"true"'),
    (made(CORE, 4, labels={"ring-controller.atlas": "ascend-npu"}), "VNP-01", "", "refuses every node", "ascend-310P"),
    (made(CORE, 4), "VNP-01", "", "refuses every node", "ascend-910b"),
    (made(H + "Ascend310P-V", 1), "RES-02", "", "no scheduling policy", "huawei.com/Ascend310P"),
    (made(H + "Ascend310P-8c", 1), "VNP-09", "", "no known vNPU template", "Ascend310P-"),
    (made(A910, 8, policy="chip8-node8", labels=quota(30, 1024)), "SFT-06", "chip8-node8", "the policy chip8-node8",
     "annotation"),
]  # fmt: skip


@pytest.mark.parametrize(("manifest", "rule", "runs", "message", "hint"), CASES)
def test_fall_through(manifest: dict[str, Any], rule: str, runs: str, message: str, hint: str) -> None:
    assert select_policy(load_jobs(text_of(manifest))[0]).policy == runs
    found = [f for f in findings(manifest, preset_vdev=False) if f.rule == rule]
    assert [f.severity in ("error", "warning") for f in found] == [True]
    assert message in found[0].message
    assert hint in found[0].hint
