"""Whether this process is a kernel."""

from __future__ import annotations

import os
import sys
from typing import Any


def shell_in_kernel() -> Any:
    """IPython's shell where a front end may be listening; None in a terminal, a script, a test."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    kernel = getattr(shell, "kernel", None)
    # An engine of ipyparallel is a kernel of which no front end knows.
    return None if kernel is None or _forked(kernel) or hasattr(kernel, "engine_id") else shell


def _forked(kernel: Any) -> bool:
    """Whether this process is a fork of the kernel, as a notebook's launcher of ranks makes them.

    It has inherited the kernel's sockets and may not use them: each message would be a warning in the server's log.
    """
    pid = getattr(getattr(kernel, "session", None), "pid", None)
    return isinstance(pid, int) and pid != os.getpid()
