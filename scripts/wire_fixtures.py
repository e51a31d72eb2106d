"""Writes the captures that the front end's tests read: labextension/tests/fixtures/*.json.

Run it when the wire changes: ``python scripts/wire_fixtures.py``.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from autograd_inspector.views import encoding
from autograd_inspector.views.notebook import saved as notebook_file
from tests.widget import programs

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "labextension" / "tests" / "fixtures"


def main() -> None:
    """Some as JSON alone, one in short, one packed into a buffer; and how a notebook file keeps two of them."""
    for program in (programs.broken, programs.detached, programs.attached, programs.vitals):
        text, _ = encoding.encoded(program())
        _write(program.__name__, {"text": text, "buffer": ""})
    merged = programs.ranks()
    for name, rank in (("ranks", 1), ("rank0", 0)):
        text, _ = encoding.encoded(merged.of_rank(rank))
        _write(name, {"text": text, "buffer": ""})
    notebook_file.WHOLE = 0
    short, _ = notebook_file.opened(notebook_file.saved(programs.deep(blocks=400)))
    _write("short", {"text": json.dumps(short), "buffer": ""})
    encoding.LARGE = 0
    text, buffer = encoding.encoded(programs.deep(blocks=4))
    _write("packed", {"text": text, "buffer": base64.b64encode(buffer).decode()})
    _write_kept()


def _write_kept() -> None:
    """What was written, as a notebook file has it."""
    _dump("kept", {"small": _kept("broken"), "packed": _kept("packed")})


def _kept(name: str) -> dict[str, Any]:
    fixture = json.loads((TARGET / f"{name}.json").read_text(encoding="utf-8"))
    return notebook_file.closed(fixture["text"].encode(), base64.b64decode(fixture["buffer"]))


def _write(name: str, capture: dict[str, str]) -> None:
    """Paths as in the repository: where a checkout lies is nobody's business."""
    capture["text"] = capture["text"].replace(f"{ROOT}/", "")
    _dump(name, capture)


def _dump(name: str, value: object) -> None:
    (TARGET / f"{name}.json").write_text(json.dumps(value, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
