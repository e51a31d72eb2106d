"""A file is written whole or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace a file's content in one step: a reader never meets half of it, nor does a crash leave half of it.

    What is not a regular file (``/dev/stdout``, a pipe) is written as it is. Raises OSError.
    """
    data = content.encode() if isinstance(content, str) else content
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    goal = path.resolve()  # A link stays, and what it leads to is replaced.
    # Beside the file, for only within one file system is a replacement one step; its name is this writer's alone.
    unfinished = goal.with_name(f".{os.getpid()}-{threading.get_ident()}.unfinished")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(goal)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
