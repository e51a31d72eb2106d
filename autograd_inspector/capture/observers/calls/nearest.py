"""Functions that sample an image at computed points: where they take the nearest pixel, the points have no slope."""

from __future__ import annotations

from typing import Any

from autograd_inspector.model.op import Trait

_PICKS = int(Trait.PICKS)
_MODE = 2
"""Its place among the arguments."""


def of_grid_sample(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """The trait of a ``grid_sample(input, grid, mode)``."""
    mode = args[_MODE] if len(args) > _MODE else kwargs.get("mode")
    return _PICKS if type(mode) is str and mode == "nearest" else 0
