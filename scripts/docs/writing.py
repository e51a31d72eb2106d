"""Files that are written only where their content is new, so that Sphinx reads only those again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_all(folder: Path, pages: Mapping[str, bytes]) -> int:
    """Make ``folder`` hold exactly these files (path below it -> content); how many changed."""
    changed = 0
    for name, content in pages.items():
        path = folder / name
        if path.exists() and path.read_bytes() == content:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        changed += 1
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        if path.relative_to(folder).as_posix() not in pages:
            path.unlink()
            changed += 1
    return changed
