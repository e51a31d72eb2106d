"""Writes the captures that the front end's tests read: labextension/tests/fixtures/*.json.

Run it when the wire changes: ``python scripts/wire_fixtures.py``.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

from autograd_inspector.views import encoding
from autograd_inspector.views.notebook.saved import saved
from tests.widget import programs

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "labextension" / "tests" / "fixtures"


def main() -> None:
    """Some as JSON alone, one as a notebook keeps it, one packed into a buffer."""
    for program in (programs.broken, programs.detached, programs.attached):
        text, _ = encoding.encoded(program())
        _write(program.__name__, {"text": text, "buffer": ""})
    _write("short", {"text": json.dumps(saved(programs.deep(blocks=400))), "buffer": ""})
    encoding.LARGE = 0
    text, buffer = encoding.encoded(programs.deep(blocks=4))
    _write("packed", {"text": text, "buffer": base64.b64encode(buffer).decode()})


def _write(name: str, capture: dict[str, str]) -> None:
    """Paths as in the repository: where a checkout lies is nobody's business."""
    capture["text"] = capture["text"].replace(f"{ROOT}/", "")
    (TARGET / f"{name}.json").write_text(json.dumps(capture, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
