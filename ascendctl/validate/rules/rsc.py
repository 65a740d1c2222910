"""Rules on fault handling and rescheduling, RSC-* (chapter 40 §3.2). The conditions are in `rsc_labels` (one key each)
and `rsc_together` (what must fit together)."""

from __future__ import annotations

from collections.abc import Iterator

from ascendctl.validate.companions import Context
from ascendctl.validate.entry import HALF, Entry
from ascendctl.validate.rule import Rule, Violation
from ascendctl.validate.rules import rsc_labels, rsc_together

RULES: tuple[Rule, ...] = (
    Rule(
        "RSC-01",
        "warning",
        "label fault-scheduling has an unknown value",
        "fault-scheduling {value!r} is unknown, so nothing is rescheduled",
        "{advice}",
        outcome="IGN",
        wrong="fault-scheduling: graceful",
        right="fault-scheduling: grace",
    ),
    Rule(
        "RSC-02",
        "warning",
        "a recovery key stands without fault-scheduling",
        "{key} has no effect: fault-scheduling is {found}",
        "add label fault-scheduling: grace",
        outcome="IGN",
        wrong='pod-rescheduling: "on"',
        right='pod-rescheduling: "on"\nfault-scheduling: grace',
    ),
    Rule(
        "RSC-03",
        "error",
        "fault-retry-times is no whole number (error on an AscendJob without backoffLimit, else a "
        "warning), or above 100 (warning)",
        "fault-retry-times {value!r} must be a whole number from 0",
        "write digits in quotes",
        outcome="OPF",
        about="The operator then fails to handle the new job, again and again.",
        wrong="fault-retry-times: many",
        right='fault-retry-times: "3"',
    ),
    Rule(
        "RSC-04",
        "error",
        "fault-retry-times with a restartPolicy other than Never",
        "fault-retry-times {times} needs restartPolicy: Never, found {policy}: the pod restarts in place and is never "
        "rescheduled",
        "write restartPolicy: Never",
        ("AscendJob", "vcjob", "Job"),
        outcome="RUN",
        wrong="restartPolicy: OnFailure",
        right="restartPolicy: Never",
    ),
    Rule(
        "RSC-05",
        "warning",
        "policies of a vcjob compete with rescheduling",
        "{key} and the policies of the job react to the same faults",
        "{advice}",
        ("vcjob",),
        outcome="RUN",
        wrong="policies: [{event: PodEvicted, action: RestartJob}]",
        right="policies: [{event: PodFailed, action: Ignore}]",
    ),
    Rule(
        "RSC-06",
        "warning",
        "fault-scheduling force with hostNetwork",
        "fault-scheduling: force does not go with hostNetwork: the port of the killed pod may still be held",
        "use fault-scheduling: grace",
        outcome="RUN",
        wrong="fault-scheduling: force",
        right="fault-scheduling: grace",
    ),
    Rule(
        "RSC-07",
        "warning",
        "terminationGracePeriodSeconds does not fit graceful rescheduling",
        "terminationGracePeriodSeconds {value} {problem}",
        "{advice}",
        outcome="IGN",
        wrong="terminationGracePeriodSeconds: 1000",
        right="terminationGracePeriodSeconds: 600",
    ),
    Rule(
        "RSC-08",
        "warning",
        "a switch has a value that means off",
        "{key} {value!r} means off",
        "write {allowed}",
        outcome="IGN",
        wrong='pod-rescheduling: "true"',
        right='pod-rescheduling: "on"',
    ),
    Rule(
        "RSC-09",
        "warning",
        "subHealthyStrategy is unknown",
        "subHealthyStrategy {value!r} counts as ignore",
        "{advice}",
        outcome="IGN",
        wrong="subHealthyStrategy: graceexit",
        right="subHealthyStrategy: graceExit",
    ),
    Rule(
        "RSC-10",
        "warning",
        "hotSwitch where it is not supported",
        "hotSwitch is not supported {where}",
        "use graceExit or forceExit",
        outcome="IGN",
        wrong="subHealthyStrategy: hotSwitch    # vcjob",
        right="subHealthyStrategy: graceExit",
    ),
    Rule(
        "RSC-11",
        "warning",
        "recover-strategy holds an unknown word, or stands where nobody reads it",
        "recover-strategy: {problem}",
        "{advice}",
        outcome="IGN",
        about="The operator does not trim blanks.",
        wrong="recover-strategy: retry, recover",
        right="recover-strategy: retry,recover",
    ),
    Rule(
        "RSC-12",
        "warning",
        "process-level recovery lacks what it needs",
        "recover-strategy {value} needs {missing}",
        "add {missing}",
        ("AscendJob",),
        outcome="RUN",
        wrong="recover-strategy: recover",
        right="recover-strategy: recover, with fault-scheduling: grace, port taskd-port and POD_IP",
    ),
    Rule(
        "RSC-13",
        "warning",
        "wait-reschedule-timeout is no number from 30 to 270",
        "wait-reschedule-timeout {value!r}: 270 is used",
        "write 30 to 270",
        outcome="IGN",
        wrong='"300"',
        right='"270"',
    ),
    Rule(
        "RSC-14",
        "warning",
        "huawei.com/recover_policy_path is unknown",
        "huawei.com/recover_policy_path {value!r} is unknown",
        "write pod, job or pod,job",
        outcome="IGN",
        wrong="recover_policy_path: pods",
        right="recover_policy_path: pod",
    ),
    Rule(
        "RSC-15",
        "warning",
        "a fault filter is malformed",
        "{key}: {part!r} is ignored",
        "write NAME:seconds, 0 to 86400, with commas between",
        outcome="IGN",
        wrong="faultCode: '80E01801'",
        right="faultCode: '80E01801:60'",
    ),
    Rule(
        "RSC-16",
        "warning",
        "rank table from a ConfigMap with pod or process rescheduling",
        "the rank table of ConfigMap {name} is not refreshed in a running pod",
        "use a volume named ranktable",
        outcome="RUN",
        wrong="configMap: {name: rings-config-train}",
        right="hostPath: {path: /user/mindx-dl/ranktable/default.train}",
    ),
    Rule(
        "RSC-17",
        "warning",
        "elastic-scheduling on without what it needs",
        "elastic-scheduling: {problem}",
        "{advice}",
        ("vcjob",),
        outcome="RUN",
        wrong='elastic-scheduling: "on"',
        right='elastic-scheduling: "on"\nminReplicas: "1"',
    ),
    Rule(
        "RSC-18",
        "info",
        "rescheduled pods write logs or results to shared storage",
        "{path} is shared storage: a rescheduled pod overwrites what is there",
        "mount with subPathExpr, or write a folder for each run",
        outcome="RUN",
        wrong="mountPath: /job/output",
        right="subPathExpr: $(POD_NAME)",
    ),
)


def check(entry: Entry, context: Context) -> Iterator[Violation]:
    """RSC rules of one workload."""
    if entry.case == HALF or not entry.pods or entry.kind_name in ("ClusterServingRuntime", "ServingRuntime"):
        return
    yield from rsc_labels.check(entry)
    yield from rsc_together.check(entry, context)
