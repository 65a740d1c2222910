"""Benchmarks of whole processes: `python -m tests.bench.run [SECTION...]` prints tables; see README.md.

Everything runs on a copy of the package with its bytecode compiled, as an installed one has, and with empty caches of
its own, in a folder that goes away at the end. The things that a table compares take turns.
"""

from __future__ import annotations

import argparse
import compileall
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from tests.bench.measure import (
    Series,
    against,
    alternate,
    child,
    load_average,
    python,
    seconds,
    spawn,
    table,
)

ROOT = Path(__file__).parents[2]
CHECK_JSONSCHEMA, RAPIDYAML = "check-jsonschema==0.39.0", "rapidyaml==0.15.2"
Cost: TypeAlias = tuple[float, float]
"""Wall and CPU seconds."""
DUMP_PARTS = ("nodes", "configmaps", "pods")


@dataclass(frozen=True)
class Bench:
    """Where dumps and tools lie, where all else does, how often to repeat, how large inputs are (share of the full
    size)."""

    inputs: Path
    work: Path
    runs: int
    scale: float

    def nodes(self, full: int) -> int:
        return max(100, round(full * self.scale))

    def pods(self, full: int) -> int:
        """A multiple of 32, the largest group that a job here is made of."""
        return max(32, round(full * self.scale) // 32 * 32)

    @property
    def package(self) -> Path:
        return self.work / "package"

    def env(self, package: Path | None = None, **more: str) -> dict[str, str]:
        """Environment of a process that runs the copy, with caches of this run."""
        home = package or self.package
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "NUMBA", "XDG"))}
        path = os.pathsep.join((str(home), str(ROOT)))
        caches = {"XDG_CACHE_HOME": str(self.work / "cache"), "NUMBA_CACHE_DIR": str(self.work / "numba")}
        return kept | {"PWD": str(home), "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"} | caches | more

    def dump(self, name: str, nodes: int, pods: int, *formats: str) -> Path:
        """Folder of a dump, made once, in another process so that this one stays small."""
        folder = self.inputs / f"{name}-{nodes}-{pods}"
        missing = [form for form in formats if not (folder / form).exists()]
        if missing:
            self.say(f"writing a dump of {nodes:,} nodes as {' and '.join(missing)}")
            command = python("-m", "tests.bench.inputs", name, str(nodes), str(pods), str(folder), *missing)
            subprocess.run(command, check=True, cwd=ROOT)
        return folder

    def say(self, text: str) -> None:
        print(f"[{time.strftime('%H:%M:%S')}, load {load_average()}] {text}", file=sys.stderr, flush=True)


def parts(folder: Path, form: str) -> list[str]:
    return [str(folder / form / f"{name}.{form}") for name in DUMP_PARTS]


def size(paths: Sequence[str]) -> int:
    return sum(os.path.getsize(path) for path in paths)


def load(bench: Bench) -> None:
    """Loading and placing on 10,000 nodes, beside orjson.loads of the same bytes."""
    nodes, pods = bench.nodes(10_000), min(100, bench.nodes(10_000) // 4)
    folder = bench.dump("910b-8", nodes, pods, "json")
    files = parts(folder, "json")
    commands = {
        "orjson.loads": child("orjson", *files),
        "orjson.loads, gc off": child("orjson-nogc", *files),
        "load_snapshot": child("load-imported", *files),
        "load_snapshot with imports": child("load", *files),
    }
    found = alternate(commands, bench.runs, bench.env())
    title = f"Load: {nodes:,} nodes of 910b-8, {size(files) / 1e6:.1f} MB of JSON"
    print(against(found, "orjson.loads", title))
    command = python("-m", "ascendctl", "place", str(folder / "job.yaml"), "-s", str(folder / "json"), "-o", "json")
    whole = alternate({"ascendctl place": command}, bench.runs, bench.env())["ascendctl place"]
    print(f"Whole process, {pods} pods of 8 NPUs: {seconds(whole.best)} (median {seconds(whole.median)}).\n")


def start(bench: Bench) -> None:
    """Cold start of a small place, beside `import numpy`."""
    folder = bench.dump("910b-8", 100, 8, "json", "yaml")
    numba = bench.work / "empty-numba-cache"
    numba.mkdir(exist_ok=True)
    commands = {
        "import numpy": python("-c", "import numpy"),
        "ascendctl --version": python("-m", "ascendctl", "--version"),
    }
    place = {form: ["place", str(folder / "job.yaml"), "-s", str(folder / form)] for form in ("json", "yaml")}
    commands |= {f"place, {form}": python("-m", "ascendctl", *place[form]) for form in place}
    bare = {f"place, {form}, no bytecode": commands[f"place, {form}"] for form in place}
    commands |= bare
    env, plain = bench.env(NUMBA_CACHE_DIR=str(numba)), bench.env(source_of(bench), NUMBA_CACHE_DIR=str(numba))
    alternate(commands, 1, env, dict.fromkeys(bare, plain))  # files into the page cache
    found = alternate(commands, bench.runs * 3, env, dict.fromkeys(bare, plain))
    print(against(found, "import numpy", "Cold start: 8 pods on 100 nodes"))
    for form, arguments in place.items():
        seen = spawn(child("imported", *arguments), env).answer
        print(
            f"{form}: {seen['modules']} modules, among them {', '.join(seen['imported']) or 'none'} of those watched."
        )
    print(f"Files in the numba cache afterwards: {sum(1 for _ in numba.rglob('*'))}.\n")


def plan(bench: Bench) -> None:
    """One job on 10,000 nodes, each policy that plans: planner and whole place, interpreted and compiled."""
    jobs = [("910b-8", 100), ("a3-superpod", 512), ("950-rack", 512), ("trees", 1024)]
    jobs += [(f"leaf-{version}", 256) for version in ("1.0", "2.0")]
    nodes = bench.nodes(10_000)
    place_table(bench, f"Placement on {nodes:,} nodes", [(name, nodes, pods) for name, pods in jobs])


def large(bench: Bench) -> None:
    """The same on 100,000 nodes."""
    nodes = bench.nodes(100_000)
    jobs = [("910b-8", 1000), ("a3-superpod", 2048), ("950-rack", 2048), ("trees", 4096), ("leaf-2.0", 1024)]
    place_table(bench, f"Placement on {nodes:,} nodes", [(name, nodes, pods) for name, pods in jobs])


def place_table(bench: Bench, title: str, jobs: Sequence[tuple[str, int, int]]) -> None:
    rows = []
    for name, nodes, full in jobs:
        pods = bench.pods(full) if full % 32 == 0 else max(10, round(full * bench.scale))
        bench.say(f"placing {pods} pods on {name}")
        run = spawn(child("place", name, str(nodes), str(pods), str(bench.runs)), bench.env())
        plain, compiled = run.answer["interpreted"], run.answer["compiled"]
        row = [f"{name}, {pods} pods", run.answer["outcome"], seconds(plain["first"]), seconds(plain["min"])]
        row += [seconds(plain["median"]), seconds(plain["planning"])]
        has_kernel = compiled["kernels"] > 0
        row += [seconds(compiled["planning"]), seconds(compiled["min"])] if has_kernel else ["no kernel", "no kernel"]
        rows.append(row)
    head = ["", "outcome", "place, first", "place, min", "median", "planner", "planner, compiled", "place, compiled"]
    print(table(f"{title} ({bench.runs} runs in one process; without loading)", head, rows))


def jit(bench: Bench) -> None:
    """What compiling costs: every kernel, with an empty and a filled cache, beside importing numba."""
    runs = bench.runs
    found = alternate({"import numba": python("-c", "import numba")}, runs, bench.env())
    for name in ("empty cache", "filled cache"):
        series = found.setdefault(name, Series(name))
        for number in range(runs):
            cache = bench.work / f"jit-{number}"
            series.runs.append(spawn(child("kernels"), bench.env(NUMBA_CACHE_DIR=str(cache))))
    print(against(found, "import numba", "Compiling all kernels in a fresh process", ["kernels"]))


def validate(bench: Bench) -> None:
    """Files per second over copies of the samples' manifests, beside check-jsonschema with the schemas of all kinds.

    Cold: no bytecode of ours, files not in the page cache.
    """
    from tests.bench.inputs import copy_manifests, write_schema

    count, cores = max(150, round(2000 * bench.scale)), len(os.sched_getaffinity(0))
    folder, schema = bench.work / "manifests", bench.work / "kinds.json"
    files = [str(path) for path in copy_manifests(folder, count)]
    write_schema(schema)
    programs = tools(bench, CHECK_JSONSCHEMA)
    theirs = [str(programs / "check-jsonschema"), "--schemafile", str(schema)]
    ours = python("-m", "ascendctl", "validate", str(folder), "-o", f"json={bench.work / 'report.json'}", "-j")
    warm, cold = bench.env(), bench.env(source_of(bench))
    shares = [files[i::cores] for i in range(cores)]
    several = f"{cores} cores"
    ways: dict[tuple[str, str, str], Callable[[], Cost]] = {
        ("ascendctl", "cold", "1 core"): lambda: together([[*ours, "1"]], cold, files),
        ("ascendctl", "cold", several): lambda: together([[*ours, str(cores)]], cold, files),
        ("ascendctl", "warm", "1 core"): lambda: together([[*ours, "1"]], warm),
        ("ascendctl", "warm", several): lambda: together([[*ours, str(cores)]], warm),
        ("ascendctl", "second run in a process", "1 core"): lambda: again(bench, folder),
        ("check-jsonschema", "cold", "1 core"): lambda: together([[*theirs, *files]], warm, [*files, *below(programs)]),
        ("check-jsonschema", "warm", "1 core"): lambda: together([[*theirs, *files]], warm),
        ("check-jsonschema", "warm", several): lambda: together([[*theirs, *share] for share in shares], warm),
    }
    costs: dict[tuple[str, str, str], list[Cost]] = {way: [] for way in ways}
    for number in range(bench.runs):
        for way, measured in ways.items():
            costs[way].append(measured())
            bench.say(f"run {number + 1}: {', '.join(way)}: {seconds(costs[way][-1][0])}")
    rows = []
    for way, found in costs.items():
        walls, cpu = [wall for wall, _ in found], min(cpu for _, cpu in found)
        base = costs["check-jsonschema", "warm", way[2]]
        row = [", ".join(way), seconds(min(walls)), seconds(statistics.median(walls)), seconds(cpu)]
        row += [f"{count / min(walls):,.0f}", f"{count / cpu:,.0f}"]
        row += [f"{min(wall for wall, _ in base) / min(walls):.1f}", f"{min(cpu for _, cpu in base) / cpu:.1f}"]
        rows.append(row)
    head = ["", "min", "median", "cpu", "files/s", "files/cpu s", "x check-jsonschema", "x (cpu)"]
    print(table(f"Validation: {count:,} files ({bench.runs} runs, {CHECK_JSONSCHEMA}, warm)", head, rows))


def together(commands: Sequence[Sequence[str]], env: dict[str, str], forgotten: Sequence[str] = ()) -> Cost:
    """What commands that run side by side take until all have ended. `forgotten` files, and with them the package of
    the environment, are read from the disk."""
    home, quiet = env["PWD"], subprocess.DEVNULL
    for path in (*forgotten, *below(Path(home))) if forgotten else ():
        forget(path)
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    running = [subprocess.Popen(command, env=env, cwd=home, stdout=quiet, stderr=quiet) for command in commands]
    codes = [process.wait() for process in running]
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if max(codes) > 1:
        sys.exit(f"{commands[0][0]}: exit code {max(codes)}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def again(bench: Bench, folder: Path) -> Cost:
    """What a second validation in a process that has done it before takes."""
    answer = spawn(child("validate", str(folder)), bench.env()).answer
    return float(answer["seconds"]), float(answer["cpu"])


def below(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file()]


def forget(path: str) -> None:
    """Take a file out of the page cache."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(handle)


def tools(bench: Bench, *requirements: str) -> Path:
    """Folder of programs of a virtual environment with some packages."""
    home = bench.inputs / requirements[0].partition("=")[0]
    if not home.exists():
        bench.say(f"installing {', '.join(requirements)}")
        subprocess.run(python("-m", "venv", str(home)), check=True)
        subprocess.run([str(home / "bin" / "pip"), "install", "-qq", *requirements], check=True)
    return home / "bin"


def read(bench: Bench) -> None:
    """Bytes, seconds, peak memory to read 100,000 nodes as JSON, YAML and packed, beside plain parsers."""
    nodes = bench.nodes(100_000)
    folder = bench.dump("a3-superpod", nodes, 64, "json", "yaml")
    packed = str(folder / "cluster.snap")
    as_json, as_yaml = parts(folder, "json"), parts(folder, "yaml")
    env, rapid = bench.env(), tools(bench, RAPIDYAML, "orjson")
    bench.say("packing")
    packing = spawn(child("pack", packed, *as_json), env)
    rapid_python = str(rapid / "python")
    json_side = {"orjson.loads": child("orjson", *as_json), "load_snapshot, JSON": child("load-imported", *as_json)}
    yaml_side = {
        "PyYAML CSafeLoader": child("pyyaml", *as_yaml),
        "rapidyaml, tree alone": [rapid_python, *child("rapidyaml", *as_yaml)[1:]],
        "rapidyaml, values through JSON": [rapid_python, *child("rapidyaml-values", *as_yaml)[1:]],
        "load_snapshot, YAML": child("load-imported", *as_yaml),
    }
    snap = {
        "import numpy": python("-c", "import numpy"),
        "load_snapshot, packed": child("load-imported", packed),
        "with imports": child("load", packed),
    }
    for base, commands, paths, runs in (
        ("orjson.loads", json_side, as_json, bench.runs),
        ("PyYAML CSafeLoader", yaml_side, as_yaml, max(1, bench.runs // 3)),
        ("import numpy", snap, [packed], bench.runs),
    ):
        bench.say(f"reading {size(paths) / 1e6:,.0f} MB")
        found = alternate(commands, runs, env)
        print(against(found, base, f"Reading {nodes:,} A3 nodes, {size(paths) / 1e6:,.1f} MB"))
    print(
        f"Packing the loaded cluster took {seconds(packing.answer['seconds'])}; peak with loading {packing.peak:,.0f} MiB.\n"
    )


SECTIONS: dict[str, Callable[[Bench], None]] = {
    "load": load, "start": start, "plan": plan, "jit": jit, "validate": validate, "read": read, "large": large,
}  # fmt: skip


def source_of(bench: Bench) -> Path:
    """A copy of the package without bytecode, as it is right after a checkout."""
    folder = bench.work / "source"
    if not folder.exists():
        copy_package(folder)
    return folder


def copy_package(target: Path) -> None:
    """The package with its schemas, as in a wheel, without bytecode."""
    shutil.copytree(ROOT / "ascendctl", target / "ascendctl", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "schemas", target / "ascendctl" / "schemas")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"{', '.join(SECTIONS)}; default: all")
    parser.add_argument("--runs", type=int, default=5, help="repetitions (default: 5)")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full size of inputs (default: 1)")
    parser.add_argument("--inputs", type=Path, metavar="DIR", help="keep dumps and tools there for another run")
    given = parser.parse_args()
    unknown = set(given.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"no section {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench((given.inputs or Path(temporary)).resolve(), Path(temporary).resolve(), given.runs, given.scale)
        copy_package(bench.package)
        compileall.compile_dir(bench.package, quiet=1)
        for name in given.sections or SECTIONS:
            before = load_average()
            SECTIONS[name](bench)
            print(f"Load average {before} before, {load_average()} after.\n", flush=True)


if __name__ == "__main__":
    main()
