"""`validate`: manifests in, findings out.

from ascendctl import validate
for finding in validate("job.yaml"):
    print(finding.line, finding.rule, finding.message)
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from ascendctl.validate.configfile import effective, forget
from ascendctl.validate.finding import Finding
from ascendctl.validate.finish import encodable
from ascendctl.validate.options import OptionError, Options
from ascendctl.validate.report import Checked, Report, merge_reports
from ascendctl.validate.run import evaluate, load
from ascendctl.validate.schemas import VOLCANO_RELEASES
from ascendctl.validate.worker import PARALLEL_FROM, Outcome, run_parallel, run_serial
from ascendctl.yamlio.errors import ReadError
from ascendctl.yamlio.inputs import expand_paths, is_text

Source: TypeAlias = str | Path | Sequence[str | Path]
STDIN_NAME, TEXT_NAME = "<stdin>", "<text>"


def validate(source: Source, *, options: Options | None = None) -> list[Finding]:
    """The findings on some manifests, sorted by file, line, column, rule.

    `source` is a path, a folder, a glob, several of them, "-" for standard input, or YAML text (anything with a line
    break). Infos are left out unless `options.verbose`. Raises ReadError if a file cannot be read at all (text that is
    no YAML is a finding, DOC-01), OptionError for options that make no sense.
    """
    report = inspect(source, options)
    if report.unreadable:
        raise ReadError(*report.unreadable[0])
    return list(report.findings)


def inspect(
    source: Source,
    options: Options | None = None,
    *,
    stdin_filename: str = "",
    workers: int | None = None,
    allow_empty: bool = False,
    use_config: bool = True,
    progress: Callable[[int], None] | None = None,
) -> Report:
    """As `validate`, but the whole report: findings, counts, unreadable files.

    `workers` None = as many processes as pay off, 1 = none beside this one. `progress` is called with the number of
    files that were finished since the last call. `use_config` False ignores `.ascendctl.yaml` files. Raises ReadError
    if no file is found (unless `allow_empty`), OptionError for options that make no sense.
    """
    options = check_options(options or Options())
    forget()
    if isinstance(source, str) and is_text(source):
        loaded = load(stdin_filename or TEXT_NAME, source, options)
        found, checked = evaluate(loaded, options, loaded.index)
        return merge_reports([*found, *_of_leaves([checked], {}, options)], [checked], (), options.strict)
    inputs = find_inputs(source, stdin_filename, allow_empty)
    profiles = [effective(item.anchor, options) if use_config else options for item in inputs]
    tasks = [(item.path, item.shown, profile) for item, profile in zip(inputs, profiles, strict=True)]
    count = _worker_count(workers, len(tasks))
    outcome: Outcome = run_parallel(tasks, count, progress) if count > 1 else run_serial(tasks, progress)
    strict = options.strict or any(profile.strict for profile in profiles)
    by_name = {item.shown: profile for item, profile in zip(inputs, profiles, strict=True)}
    found = [*outcome.findings, *_of_leaves(outcome.files, by_name, options)]
    return merge_reports(found, outcome.files, outcome.unreadable, strict)


def _of_leaves(files: Sequence[Checked], profiles: Mapping[str, Options], options: Options) -> Iterable[Finding]:
    """What is wrong with the leaf topology of the snapshot, as files with jobs that need it see it; `profiles` are
    their options by name."""
    if options.snapshot is None or not any(file.switches for file in files):
        return []
    from ascendctl.validate.leafmap import leaf_findings

    return leaf_findings(options.snapshot, [profiles.get(file.file, options) for file in files if file.switches])


@dataclass(frozen=True)
class Input:
    """A file to read: its path ("-" = stdin), its name in reports, and where its config file is looked for."""

    path: str
    shown: str
    anchor: str


def find_inputs(source: Source, stdin_filename: str = "", allow_empty: bool = False) -> list[Input]:
    """The files that a source names, each once. Raises ReadError if there is none."""
    sources = [source] if isinstance(source, str | os.PathLike) else list(source)
    paths: list[str] = []
    for one in sources:
        try:
            paths += expand_paths([one])
        except ReadError:
            if not (allow_empty and (os.path.exists(one) or any(c in os.fspath(one) for c in "*?["))):
                raise
    if not paths and not allow_empty:
        raise ReadError("ascendctl", "no input: name files, folders or globs, or - for standard input")
    inputs: dict[str, Input] = {}
    for path in paths:
        if path == "-":
            shown = stdin_filename or STDIN_NAME
            inputs[path] = Input(path, shown, stdin_filename or "stdin")
        else:
            shown = shown_name(path)
            inputs.setdefault(shown, Input(path, shown, path))
    return list(inputs.values())


def shown_name(path: str) -> str:
    """The name of a file in reports: as it was given, without `./`, with forward slashes."""
    shown = encodable(os.path.normpath(path))
    return shown.replace(os.sep, "/") if os.sep != "/" else shown


def check_options(options: Options) -> Options:
    """The options, if they make sense."""
    if options.volcano not in VOLCANO_RELEASES:
        raise OptionError(f"volcano {options.volcano!r}: known are {', '.join(VOLCANO_RELEASES)}")
    if options.dialect not in ("mindcluster", "any"):
        raise OptionError(f"dialect {options.dialect!r}: known are mindcluster, any")
    for rule, severity in options.severities.items():
        if severity not in ("error", "warning", "info", "off"):
            raise OptionError(f"severity {severity!r} of {rule}: known are error, warning, info, off")
    unknown = sorted(rule for rule in {*options.disabled, *options.severities} if not _is_rule(rule))
    if unknown:
        raise OptionError(f"no rule {unknown[0]}{_meant(unknown[0])}")
    if options.product:
        from ascendctl.products import CATALOGUE, find_product
        from ascendctl.validate.nearest import nearest

        if find_product(options.product) is None:
            names = [product.name for product in CATALOGUE]
            near = nearest(options.product, names)
            raise OptionError(f"no product {options.product!r}" + (f": did you mean {near}?" if near else ""))
    if options.grace_over_time <= 0:
        raise OptionError(f"grace-over-time {options.grace_over_time}: it counts seconds from 1")
    return replace(options, disabled=frozenset(options.disabled))


def _is_rule(rule: str) -> bool:
    from ascendctl.validate.catalogue import find_rule

    return find_rule(rule) is not None


def _meant(rule: str) -> str:
    from ascendctl.validate.catalogue import all_rules
    from ascendctl.validate.nearest import nearest

    near = nearest(rule, [known.id for known in all_rules()])
    return f": did you mean {near}?" if near else ""


def _worker_count(workers: int | None, files: int) -> int:
    if workers is None:
        if files < PARALLEL_FROM:
            return 1
        workers = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return max(1, min(workers, files))
