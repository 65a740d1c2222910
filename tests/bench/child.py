"""What runs inside a fresh process: `python -m tests.bench.child WHAT ARGUMENT...` prints what it measured as JSON."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from functools import partial
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

PLANNERS = {
    "superpod": "plan_path",
    "rack": "fill",
    "multilevel": "plan",
    "switch": "_choose",
    "intra": "seat",
}
"""The function of each policy module that chooses the nodes, when eligibility is known."""


def _timed(function: Callable[[], Any]) -> dict[str, Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = function()
    return {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "result": result}


def read_orjson(*paths: str) -> dict[str, Any]:
    """orjson.loads of the bytes of each file, which are in memory before."""
    import orjson

    data = [Path(path).read_bytes() for path in paths]
    return _timed(lambda: [orjson.loads(each) for each in data])


def read_orjson_without_gc(*paths: str) -> dict[str, Any]:
    import gc

    gc.disable()
    return read_orjson(*paths)


def read_pyyaml(*paths: str) -> dict[str, Any]:
    """PyYAML on libyaml."""
    import yaml

    data = [Path(path).read_bytes() for path in paths]
    return _timed(lambda: [yaml.load(each, yaml.CSafeLoader) for each in data])


def read_rapidyaml(*paths: str) -> dict[str, Any]:
    """rapidyaml's tree, no Python objects."""
    import ryml

    data = [Path(path).read_bytes() for path in paths]
    return _timed(lambda: [ryml.parse_in_arena(each) for each in data])


def read_rapidyaml_values(*paths: str) -> dict[str, Any]:
    """Python values the shortest way from rapidyaml's tree: as JSON, through orjson."""
    import orjson
    import ryml

    def values(data: bytes) -> Any:
        tree = ryml.parse_in_arena(data)
        return orjson.loads(ryml.emit_json_malloc(tree, tree.root_id()))

    data = [Path(path).read_bytes() for path in paths]
    return _timed(lambda: [values(each) for each in data])


def load(*paths: str) -> dict[str, Any]:
    """load_snapshot from files to the Cluster, the first call in a process: with all imports that it makes."""

    def read() -> Any:
        from ascendctl import load_snapshot

        return load_snapshot(list(paths))

    return _timed(read)


def load_imported(*paths: str) -> dict[str, Any]:
    """The same when all modules are there: after a cluster of one node."""
    from ascendctl import load_snapshot

    load_snapshot([{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one"}}])
    return load(*paths)


def pack(target: str, *paths: str) -> dict[str, Any]:
    """Write a packed snapshot of a dump; the seconds are those of packing alone."""
    from ascendctl import load_snapshot
    from ascendctl.snapshot.pack import pack as packed

    cluster = load_snapshot(list(paths))
    return _timed(lambda: Path(target).write_bytes(packed(cluster)))


def place(name: str, nodes: str, pods: str, repeats: str) -> dict[str, Any]:
    """One job on one cluster again and again: whole `place`, its planner, interpreted and compiled."""
    import ascendctl
    from ascendctl.engine import jit
    from tests import cases
    from tests.bench.inputs import cluster

    case = cluster(name, int(nodes), int(pods))
    snapshot = ascendctl.load_snapshot(cases.objects(case))
    (job,) = ascendctl.load_jobs(cases.manifest(case))
    answer: dict[str, Any] = {}
    for compiled in (False, True):
        run = partial(ascendctl.place, job, snapshot, compiled=compiled)
        once = _timed(run)
        whole, planning = [], []
        for _ in range(int(repeats)):
            spent: list[float] = []
            with _watched(spent):
                whole.append(_timed(run)["seconds"])
            planning.append(sum(spent))
        answer["compiled" if compiled else "interpreted"] = {
            "first": once["seconds"],
            "min": min(whole),
            "median": statistics.median(whole),
            "planning": min(planning),
            "kernels": len(jit._compiled),
        }
        result = once["result"]
        answer["outcome"] = f"{result.outcome} {getattr(result, 'code', '')}".strip()
    return answer


@contextmanager
def _watched(spent: list[float]) -> Iterator[None]:
    """Adds the seconds spent in planners to a list while the block runs."""

    def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **named: Any) -> Any:
            started = time.perf_counter()
            result = function(*args, **named)
            if isinstance(result, Iterator):
                result = list(result)
            spent.append(time.perf_counter() - started)
            return result

        return run

    homes = {name: sys.modules.get(f"ascendctl.engine.policies.{name}") for name in PLANNERS}
    saved = {name: getattr(home, PLANNERS[name]) for name, home in homes.items() if home is not None}
    for name, function in saved.items():
        setattr(homes[name], PLANNERS[name], wrapped(function))
    try:
        yield
    finally:
        for name, function in saved.items():
            setattr(homes[name], PLANNERS[name], function)


def kernels() -> dict[str, Any]:
    """Compile, or take from the cache, every kernel."""

    def warm() -> Any:
        from ascendctl.engine.jit import warm_all

        return warm_all()

    found = _timed(warm)
    return found | {"kernels": len(found["result"])}


def validate(*paths: str) -> dict[str, Any]:
    """A second run over the files in the same process."""
    from ascendctl.validate.api import inspect

    inspect(list(paths), workers=1)
    return _timed(lambda: inspect(list(paths), workers=1))


def imported(*arguments: str) -> dict[str, Any]:
    """Modules of note that a command line imports."""
    cli = import_module("ascendctl.cli")
    with redirect_stdout(StringIO()), suppress(SystemExit):
        cli.cli.main(list(arguments), standalone_mode=False)
    noted = ("numba", "llvmlite", "yaml", "jsonschema", "multiprocessing")
    return {"modules": len(sys.modules), "imported": [name for name in noted if name in sys.modules]}


WHATS: dict[str, Callable[..., dict[str, Any]]] = {
    "orjson": read_orjson, "orjson-nogc": read_orjson_without_gc, "pyyaml": read_pyyaml, "rapidyaml": read_rapidyaml, "rapidyaml-values": read_rapidyaml_values,
    "load": load, "load-imported": load_imported, "pack": pack, "place": place, "kernels": kernels, "validate": validate, "imported": imported,
}  # fmt: skip

if __name__ == "__main__":
    found = WHATS[sys.argv[1]](*sys.argv[2:])
    found.pop("result", None)
    print(json.dumps({"measured": sys.argv[1], **found}))
    sys.stdout.flush()
    os._exit(0)  # taking gigabytes of objects apart is not what is measured
