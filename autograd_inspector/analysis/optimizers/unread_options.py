"""Options that the program gave to some groups of an optimizer, and that its class has no default for.

An optimizer fills each group up with its own options, so a number that stands in some groups only is none of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.placement_rows import OptimizerRecord


class UnreadOption(Struct, frozen=True):
    """``option`` of the ``groups`` (their numbers) of an optimizer that steps."""

    optimizer: OptimizerRecord
    option: str
    groups: tuple[int, ...]


def unread_options(analysis: Analysis) -> Iterator[UnreadOption]:
    """Each option of each optimizer once."""
    for optimizer in analysis.capture.placement.optimizers:
        settings = optimizer.groups
        for option in dict.fromkeys(option for group in settings for option in group) if optimizer.steps else ():
            having = tuple(number for number, group in enumerate(settings) if option in group)
            if len(having) < len(settings) and all(_is_number(settings[number].get(option)) for number in having):
                yield UnreadOption(optimizer, option, having)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
