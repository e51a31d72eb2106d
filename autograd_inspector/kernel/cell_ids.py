"""Which cell of the notebook ran under which execution count: how a front end finds ``In [3]``."""

from __future__ import annotations

from typing import Any, NamedTuple

from autograd_inspector.kernel.execution_count import running_count
from autograd_inspector.model.capture import Capture

_MOST = 10_000


class Ran(NamedTuple):
    """A cell: the notebook's own id of it, and what its text begins with."""

    cell_id: str
    first_line: str


_cells: dict[str, Ran] = {}


def ran(count: int, cell_id: str | None, text: str) -> None:
    """Remember a cell; a front end that numbers none (nbclient, a terminal) has an empty id."""
    label = f"In [{count}]"
    _cells.pop(label, None)
    first = next((line.strip() for line in text.splitlines() if line.strip() and not line.startswith("%%")), "")
    _cells[label] = Ran(cell_id or "", first[:200])
    if len(_cells) > _MOST:
        del _cells[next(iter(_cells))]


def asked_by_a_page(shell: Any) -> bool:
    """Whether a notebook's page asked for what runs now, which has ids for its cells: nbclient and terminals do not."""
    return bool(_request(shell).get("metadata", {}).get("cellId"))


def _request(shell: Any) -> dict[str, Any]:
    parent: dict[str, Any] = (shell.get_parent() or {}) if hasattr(shell, "get_parent") else {}
    return parent


def runs(shell: Any) -> None:
    """Remember the cell that runs now, where no event told of it: the message that asked for it knows its id."""
    parent = _request(shell)
    content = parent.get("content", {})
    count = running_count(shell, stored=content.get("store_history", not content.get("silent", False)))
    if f"In [{count}]" in _cells or not parent:
        return
    ran(count, parent.get("metadata", {}).get("cellId"), str(content.get("code", "")))


def cell_ids(capture: Capture) -> dict[str, str]:
    """The ids of the cells whose lines a capture knows, by their label ("In [3]")."""
    labels = {frame.cell for site in capture.sites for frame in site.frames if frame.cell}
    return {label: _cells[label].cell_id for label in sorted(labels & _cells.keys()) if _cells[label].cell_id}


def first_line(label: str) -> str:
    """What the cell of that label begins with, magics left out; "" for a file, or a cell that is not known."""
    return _cells[label].first_line if label in _cells else ""
