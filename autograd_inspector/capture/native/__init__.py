"""What records in C, where it was compiled: the same records at less cost. The functions in Python are the reference.

Without a compiler, with another torch than it knows, and with ``AUTOGRAD_INSPECTOR_PURE_PYTHON=1``, Python does it all.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent
SWITCH = "AUTOGRAD_INSPECTOR_PURE_PYTHON"


def compiled() -> tuple[Any, str]:
    """The module in C, before it was told of torch; None, and why it is not to be used."""
    if os.environ.get(SWITCH, "0") not in {"", "0"}:
        return None, f"switched off by {SWITCH}"
    try:
        from autograd_inspector.capture.native import _native
    except ImportError:
        return None, "not compiled"
    if getattr(_native, "SOURCE", "") != (source_digest() or getattr(_native, "SOURCE", "")):
        return None, "compiled from an older source: run `pip install -e .` again"
    return _native, ""


def source_digest(folder: Path = _FOLDER) -> str:
    """Of the sources in C; "" where an installed package is without them."""
    sources = sorted(folder.glob("*.[ch]"))
    return sha256(b"".join([source.read_bytes() for source in sources])).hexdigest() if sources else ""
