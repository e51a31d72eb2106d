"""Whether there are other ranks."""

from __future__ import annotations

import sys


def several_ranks() -> bool:
    """Whether the program has a process group of more than one rank."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return False
    return bool(distributed.get_world_size() > 1)
