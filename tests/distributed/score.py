"""Scores the inspector on the programs of several ranks: `python -m tests.distributed.score [-v] [NAME...]`.

``--programs FOLDER`` scores the programs of another folder; ``--values`` reads values of all of them.

Each program runs on two gloo ranks, each a fork of this process, in a block of its own; then the reports are gathered.
``found``: the rule of the truth speaks, in a rank's own report or in the gathered one, as the truth says who can know
it; ``located``: it names a marked line; ``named``: it mentions the names. Of a healthy one: ``silent``.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib.util
import json
import os
import re
import signal
import sys
import tempfile
import time
import traceback
import warnings
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.fsdp
import torch.distributed.nn.functional
import torch.distributed.optim

from autograd_inspector import inspect
from tests.distributed.repairs import REPAIRS
from tests.distributed.truth import Truth
from tests.practice.truth import ALSO, CAUSE, marked
from tests.shares import share

PROGRAMS = Path(__file__).parent / "programs"
LOUD = ("error", "warning")
PATIENCE = 60
NOT_YET = {
    "es_point_mass": "found located first named",  # No gradient is computed: nothing says that the ranks are replicas.
    "kfac_autoencoder": "first",  # Which of several writes to the gradients parts them takes a fingerprint behind each.
    "moco_shuffled_keys": "found located first named",  # Which draws have to agree: a rank may choose rows by its own.
    "muon_fully_sharded": "found located first named",  # Which arithmetic of parts is not that of the whole?
    "post_local_sgd": "found located first named",  # How long ranks are to stay apart before they average is a choice.
}
"""Programs -> the aims that are missed."""
LIBRARIES = ("accelerate", "datasets", "lightning", "transformers.trainer")
"""What some programs train with. One part has all of these, and imports the libraries once for all their ranks."""


def every(folder: Path = PROGRAMS) -> list[str]:
    """The names of the programs."""
    return sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")


def part_of(names: list[str], part: int, parts: int, folder: Path) -> tuple[list[str], list[str]]:
    """The programs of one part that use torch alone, and those that train with a library: the last part has these."""
    training = [name for name in names if _trains_with_a_library(folder / f"{name}.py")]
    alone = [name for name in names if name not in training]
    return alone[part::parts], training if part == parts - 1 else []


def _trains_with_a_library(source: Path) -> bool:
    imports = (line.split()[1] for line in source.read_text().splitlines() if re.match(r"\s*(from|import) \w", line))
    return any(name.split(".")[0] in {library.split(".")[0] for library in LIBRARIES} for name in imports)


def imported(libraries: tuple[str, ...]) -> None:
    """Import those that are installed."""
    for library in libraries:
        with contextlib.suppress(ImportError):
            importlib.import_module(library)
    freeze()


def freeze() -> None:
    """A fork that looked for garbage in all that is there would copy it."""
    gc.collect()
    gc.freeze()


def mended() -> list[str]:
    """The programs whose repairs `make test` tries: of each rule one, and a third of all."""
    return share(sorted(REPAIRS), 3, kinds=_rules)


def _rules(name: str) -> list[str]:
    return re.findall(r"\brule=\"([^\"]+)", (PROGRAMS / f"{name}.py").read_text(encoding="utf-8"))


def told_of(findings: Any) -> list[dict[str, Any]]:
    """What findings say, as plain data."""
    return [
        {
            "rule": f.rule,
            "severity": f.severity,
            "lines": [place.lineno for place in f.locations],
            "fix": f.fix,
            "text": " ".join([f.message, f.fix, *f.subjects, *f.consequences]),
        }
        for f in findings
    ]


def loaded(source: Path) -> ModuleType:
    """The program in a file."""
    spec = importlib.util.spec_from_file_location(source.stem, source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def world_of(source: Path) -> int:
    """How many ranks a program has: two, unless it says so."""
    return getattr(loaded(source), "WORLD", 2)


def rank_runs(source: Path, rank: int, world: int, folder: str, values: bool) -> None:
    """One rank's part: run, report, gather, write what was said."""
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=world, timeout=timedelta(seconds=8)
    )
    module = loaded(source)
    if hasattr(module, "setup"):
        module.setup()
    raised = ""
    try:
        with inspect(values=values or module.TRUTH.values) as inspection:
            module.run()
    except Exception as error:
        raised = str(error)
    report = inspection.report
    told = {"own": told_of(report.findings), "raised": raised, "notes": list(report.notes), "gather": []}
    try:
        merged = report.gather(timeout=60)
        told["gather"] = told_of(each.finding for each in merged.findings)
        merged.to_text()
    except Exception:
        told["gather_failed"] = traceback.format_exc()
    (Path(folder) / f"{rank}.json").write_text(json.dumps(told))


def run(source: Path, world: int = 0, values: bool = False) -> list[dict[str, Any]]:
    """What each rank told; fewer where one did not end in time. A program may say how many ranks it has: ``WORLD``."""
    world = world or world_of(source)
    with tempfile.TemporaryDirectory() as folder:
        children = []
        for rank in range(world):
            child = os.fork()
            if child == 0:
                try:
                    rank_runs(source, rank, world, folder, values)
                except BaseException:
                    traceback.print_exc()
                finally:
                    sys.stderr.flush()
                    os._exit(0)
            children.append(child)
        until = time.monotonic() + PATIENCE
        while children and time.monotonic() < until:
            children = [child for child in children if os.waitpid(child, os.WNOHANG)[0] == 0]
            time.sleep(0.02)
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        return [json.loads(path.read_text()) for path in sorted(Path(folder).glob("*.json"))]


def score(name: str, programs: Path = PROGRAMS, values: bool = False) -> tuple[dict[str, bool], list[dict[str, Any]]]:
    """Aim -> whether it is reached; and what the ranks told."""
    source = programs / f"{name}.py"
    truth: Truth = loaded(source).TRUTH
    ranks = run(source, values=values)
    aims = {"ran": len(ranks) == world_of(source) and all("gather_failed" not in each for each in ranks)}
    aims["as described"] = bool(ranks) and (
        any(text in each["raised"] for each in ranks for text in truth.raises.split("|"))
        if truth.raises
        else not any(each["raised"] for each in ranks)
    )
    own = [f for each in ranks for f in each["own"] if f["severity"] in LOUD]
    gathered = [f for each in ranks[:1] for f in each["gather"] if f["severity"] in LOUD]
    if truth.healthy:
        return aims | {"silent": not own and not gathered}, ranks
    said = {"own": own, "gather": gathered, "any": own + gathered}[truth.where]
    lines = {*marked(source, CAUSE), *marked(source, ALSO)}
    hits = [f for f in said if f["rule"] in truth.rule.split("|")]
    located = [f for f in hits if truth.before or lines & set(f["lines"])]
    aims["found"] = bool(hits)
    aims["located"] = bool(located)
    aims["first"] = any(truth.before or (f["lines"] and f["lines"][0] in lines) for f in located)
    aims["named"] = any(all(part.lower() in f["text"].lower() for part in truth.names) for f in located)
    aims["alone"] = not [f for f in own + gathered if f["rule"] not in truth.rule.split("|")]
    return aims, ranks


def repaired(name: str) -> list[str]:
    """What is still said of a program once its fix is made; empty: nothing, as it should be."""
    text = (PROGRAMS / f"{name}.py").read_text()
    for old, new in REPAIRS[name]:
        if text.count(old) != 1:
            return [f"{old!r} is {text.count(old)} times in {name}"]
        text = text.replace(old, new)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"{name}.py"
        source.write_text(text)
        ranks = run(source)
    raised = [each["raised"] for each in ranks if each["raised"]]
    loud = [f"{f['rule']} {f['text']}" for each in ranks for f in each["own"] + each["gather"] if f["severity"] in LOUD]
    return [*raised, *loud] if len(ranks) > 1 else ["a rank did not end", *raised, *loud]


def main() -> None:
    """Print what is missed, and the sums."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("-v", action="store_true")
    parser.add_argument("--programs", type=Path, default=PROGRAMS, help="the folder of the programs")
    parser.add_argument("--values", action="store_true", help="read values, of programs too that need none")
    parser.add_argument("--json", type=Path, help="write what came of each program there")
    parser.add_argument("--sample", action="store_true", help="try only the repairs that `make test` tries")
    parser.add_argument("--part", default="0/1", help="1/3: the second of three parts of the programs")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sums: dict[str, list[bool]] = {}
    kept: dict[str, Any] = {}
    part, parts = map(int, options.part.split("/"))
    names = [
        name for name in every(options.programs) if not options.names or any(part in name for part in options.names)
    ]
    alone, training = part_of(names, part, parts, options.programs)
    repairs = mended() if options.sample else list(REPAIRS)
    freeze()
    for name in [*alone, *training]:
        if name in training:
            imported(LIBRARIES)
        aims, ranks = score(name, options.programs, options.values)
        for aim, reached in aims.items():
            sums.setdefault(aim, []).append(reached)
        left = repaired(name) if name in repairs else []
        if name in repairs:
            aims["repaired"] = not left
            sums.setdefault("repaired", []).append(not left)
        fixes = sorted({f["fix"] for each in ranks for f in each["own"] + each["gather"]})
        kept[name] = {"missed": [aim for aim, reached in aims.items() if not reached], "left": left, "fixes": fixes}
        missed = [aim for aim, reached in aims.items() if not reached]
        if missed or options.v:
            print(f"{name}: misses {', '.join(missed) or 'nothing'}", flush=True)
            for line in left:
                print("   repaired, and still:", line[:300])
        if options.v:
            for number, each in enumerate(ranks):
                print(
                    f"  rank {number} raised {each['raised'][:300]!r} notes {each['notes']}",
                    each.get("gather_failed", ""),
                )
                for kind in ("own", "gather"):
                    for f in each[kind]:
                        print(f"    {kind} {f['rule']} {f['severity']} {f['lines']} {f['text'][:500]}")
    if options.json:
        options.json.write_text(json.dumps(kept))
    print({aim: f"{sum(got)}/{len(got)}" for aim, got in sums.items()})


if __name__ == "__main__":
    main()
