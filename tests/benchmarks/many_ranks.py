"""The reports of 1,024 simulated ranks as one: CPU time, and how much the process grows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from .display import Aim, Row, Section, progress

LAYERS = 150
SECONDS, MEGABYTES = 5, 500
_WAYS = {
    "alike": "all alike",
    "rate": "a learning rate each",
    "device": "eight devices",
    "frozen": "a frozen layer each",
}
_PROGRAM = """
import json, resource, sys, time
from autograd_inspector.api.ranks import merged_parts
from tests.distributed.many import sent
parts = sent(int(sys.argv[1]), sys.argv[2])
before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
merged = merged_parts(parts)
took, after = time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([took, (after - before) / (1e6 if sys.platform == "darwin" else 1e3)]))
"""
_ROOT = Path(__file__).parents[2]


def measure(*, quick: bool) -> Section:
    """A row for each way in which ranks differ, each in a process of its own: a peak is never taken back."""
    layers = LAYERS // 5 if quick else LAYERS
    rows = []
    for how, text in _WAYS.items():
        progress(f"merging 1,024 ranks of {layers} layers: {text}")
        command = [sys.executable, "-c", _PROGRAM, str(layers), how]
        took, grown = json.loads(subprocess.run(command, cwd=_ROOT, check=True, capture_output=True).stdout)
        aim = Aim(f"at most {SECONDS} s and {MEGABYTES} MB", took <= SECONDS and grown <= MEGABYTES)
        rows.append(Row(text, None, None, f"{took:.1f} s, {grown:.0f} MB", aim))
    return Section(f"Merging the reports of 1,024 ranks of {layers} linear layers", "", tuple(rows))
