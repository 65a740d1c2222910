"""The kubectl lines that export a snapshot."""

from __future__ import annotations

import shlex

import pytest

from ascendctl.snapshot.commands import SCOPES, export_commands


def test_the_lines_of_the_chapter() -> None:
    lines = [command.line for command in export_commands() if command.needed]
    assert lines == [
        "kubectl get configmaps -A -o json > dump/configmaps.json",
        "kubectl get nodes -o json > dump/nodes.json",
        "kubectl get pods -A -o json > dump/pods.json",
    ]


@pytest.mark.parametrize("scope", SCOPES)
def test_lines_are_good_for_a_shell(scope: str) -> None:
    commands = export_commands("my dump; rm", scope)
    for command in commands:
        words = shlex.split(command.line)
        assert words[:2] == ["kubectl", "get"] and words[-3:] == ["json", ">", command.file] and "-o" in words
        assert command.why
    files = [command.file for command in commands]
    assert len(set(files)) == len(files) and files[-1].endswith("pods.json")


def test_narrow_lines_name_what_the_scheduler_reads() -> None:
    text = "\n".join(command.line for command in export_commands(scope="narrow"))
    for part in (
        "-n mindx-dl -l mx-consumer-volcano=true",
        "-l mx-consumer-cim=true",
        "volcano-scheduler-configmap -n volcano-system",
        "basic-tor-node-cm -n kube-system",
        "podgroups.scheduling.volcano.sh",
    ):
        assert part in text
    with pytest.raises(ValueError, match="wide, narrow"):
        export_commands(scope="all")
