"""Names of resources, labels and annotations that more than one package reads. Which of them a job may carry, and with
which values, says `validate.keys`."""

from __future__ import annotations

from typing import Final

# resources
NPU, A910, A310, A310P = "huawei.com/npu", "huawei.com/Ascend910", "huawei.com/Ascend310", "huawei.com/Ascend310P"
NPU_CORE: Final = "huawei.com/npu-core"

# of workloads and their pods
POLICY: Final = "huawei.com/schedule_policy"
MIN_AVAILABLE: Final = "huawei.com/schedule_minAvailable"
SERVICE: Final = "inferserviceid"
SOFT_SHARE: Final = "chip1-softShareDev"  # a value of POLICY
AICORE_QUOTA: Final = "huawei.com/scheduler.softShareDev.aicoreQuota"
RING: Final = "ring-controller.atlas"
BATCH: Final = "podgroup-sched-enable"
GROUP_NAME: Final = "scheduling.k8s.io/group-name"
SP_BLOCK: Final = "sp-block"
SUPER_POD_AFFINITY: Final = "super-pod-affinity"
SUB_HEALTHY: Final = "subHealthyStrategy"
TASK_SPEC: Final = "volcano.sh/task-spec"
OPERATOR: Final = "training.kubeflow.org/operator-name"

# written for a pod once it has a node
RANK: Final = "hccl/rankIndex"
REAL: Final = "huawei.com/AscendReal"
SUPER_POD_RANK, SUPER_POD_ID = "super-pod-rank", "super-pod-id"

# of nodes, and of the pod fields that name nodes
HOSTNAME: Final = "kubernetes.io/hostname"
ACCELERATOR_TYPE: Final = "accelerator-type"
DUO_LABEL, DUO_CARD = "infer-card-type", "card-300i-duo"
CHIP_NAME: Final = "node.kubernetes.io/npu.chip.name"
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"

# of this program
RANK_LABEL: Final = "ascendctl.io/rank"
"""On the pods of StatefulSets that are one rank each of what was one set (chapter 50 §6.6 g): it tells their selectors
apart; all other labels stay, so Services go on finding the pods."""
