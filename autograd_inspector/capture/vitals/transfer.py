"""Numbers that were computed on devices on their way to Python: all of several steps in one transfer a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from autograd_inspector.capture.torch_private.dispatch import straight_to_kernels


class Reading(NamedTuple):
    """Scalars that are still on their device, and who is told what they are."""

    scalars: Sequence[Tensor]
    told: Callable[[list[float]], None]


def brought(readings: Sequence[Reading]) -> None:
    """Tell each reading its numbers; waits for the devices."""
    scalars = [scalar for reading in readings for scalar in reading.scalars]
    numbers = straight_to_kernels(_numbers, scalars)
    start = 0
    for reading in readings:
        end = start + len(reading.scalars)
        reading.told(numbers[start:end])
        start = end


def on_host(readings: Sequence[Reading]) -> bool:
    """Whether no device has to be waited for."""
    return all(scalar.device.type == "cpu" for reading in readings for scalar in reading.scalars)


def _numbers(scalars: list[Tensor]) -> list[float]:
    numbers = [0.0] * len(scalars)
    by_device: dict[torch.device, list[int]] = {}
    for place, scalar in enumerate(scalars):
        by_device.setdefault(scalar.device, []).append(place)
    for places in by_device.values():
        together = torch.stack([scalars[place].reshape(()).float() for place in places])
        for place, number in zip(places, together.tolist(), strict=True):
            numbers[place] = number
    return numbers
