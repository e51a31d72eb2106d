"""Lines in plain files."""

from __future__ import annotations

import json
import subprocess
import sys

SCRIPT = """\
import torch
import autograd_inspector

w = torch.ones(3, requires_grad=True)


def double(x):
    return (
        x
        .exp()
    )


with autograd_inspector.inspect() as inspection:
    y = double(w)
found = next(op for op in inspection.report.capture.ops if op.name == "exp")
places = inspection.report.capture.site(found.site)
import json
print(json.dumps([[p.filename, p.lineno, p.cell, p.source] for p in places]))
"""


def test_file_and_line(tmp_path):
    """In a script, locations are files and lines with their text, and no cell."""
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    inner, outer = json.loads(done.stdout)
    assert inner == [str(script), 10, None, ".exp()"]
    assert outer == [str(script), 15, None, "y = double(w)"]
