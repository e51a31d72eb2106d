"""The dtype that torch gives to what is created without one, where the program changed it."""

from __future__ import annotations

from typing import NamedTuple

import torch


class DefaultChange(NamedTuple):
    """A call that changed it from what it was when the capture began; ``told``: the sites of which an event tells."""

    site: int
    name: str
    before: torch.dtype
    after: torch.dtype
    told: set[int]
