"""The random streams: where they stand, and putting them back."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

from autograd_inspector.capture.undisturbed.installing import Installation


def keep_streams(into: Installation) -> None:
    """Every random stream stands afterwards where it stands now: torch's of each device, Python's, NumPy's."""
    into.made(partial(random.setstate, random.getstate()))
    into.made(partial(torch.set_rng_state, torch.get_rng_state()))
    if torch.cuda.is_initialized():
        into.made(partial(torch.cuda.set_rng_state_all, torch.cuda.get_rng_state_all()))
    if _has_mps():
        into.made(partial(torch.mps.set_rng_state, torch.mps.get_rng_state()))
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        into.made(partial(numpy.random.set_state, numpy.random.get_state()))


@contextmanager
def kept_streams() -> Iterator[None]:
    """Random streams stand after the block where they stood before it."""
    installation = Installation()
    keep_streams(installation)
    try:
        yield
    finally:
        installation.take_back()


def _has_mps() -> bool:
    return torch.backends.mps.is_available()
