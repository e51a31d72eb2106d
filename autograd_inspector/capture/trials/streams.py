"""The random streams: where they stand, and putting them back."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def streams_kept() -> Iterator[None]:
    """Every random stream stands afterwards where it stood before: torch's of each device, Python's, NumPy's."""
    devices = [torch.cuda] if torch.cuda.is_initialized() else []
    own = random.getstate()
    cpu = torch.get_rng_state()
    cuda = [device.get_rng_state_all() for device in devices]
    mps = torch.mps.get_rng_state() if _has_mps() else None
    numpy: Any = sys.modules.get("numpy")
    drawn = numpy.random.get_state() if numpy is not None else None
    try:
        yield
    finally:
        random.setstate(own)
        torch.set_rng_state(cpu)
        for device, states in zip(devices, cuda, strict=True):
            device.set_rng_state_all(states)
        if mps is not None:
            torch.mps.set_rng_state(mps)
        if numpy is not None:
            numpy.random.set_state(drawn)


def _has_mps() -> bool:
    return torch.backends.mps.is_available()
