"""The number of the cell that runs: 3 for ``In [3]``."""

from __future__ import annotations

from typing import Any

COUNTS_FIRST = (9, 8)
"""Since this IPython the shell counts up before a stored cell runs, until then after it."""


def running_count(shell: Any, *, stored: bool) -> int:
    """The number of the cell that runs; ``stored``: whether it goes into the history, and so takes a number."""
    from IPython import version_info

    count = int(shell.execution_count)
    return count - 1 if stored and version_info[:2] >= COUNTS_FIRST else count
