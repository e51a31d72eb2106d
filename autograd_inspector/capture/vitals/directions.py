"""Whether the gradient of a weight points where it did in the step before: one that is mostly noise does not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from autograd_inspector.capture.vitals.samples import sampled
from autograd_inspector.capture.vitals.table import UNMEASURED

ENTRIES = 512
"""So many of a gradient are kept until the next step."""
_FEWEST = 64
"""Entries that are not 0 in both steps: of fewer the angle is chance. The rows of an embedding are others each time."""


class Directions:
    """Some entries of each gradient of the present step and of the one before, on their device."""

    def __init__(self) -> None:
        self._before: dict[tuple[int, ...], Tensor] = {}
        """Rows -> [rows, entries] in float32."""
        self._now: dict[tuple[int, ...], Tensor] = {}

    def turned(self, gradients: Iterable[tuple[int, Tensor]]) -> Iterator[tuple[int, Tensor]]:
        """Take in the (row, gradient) of one optimizer; (row, cosine with the step before) of those that had one then.

        To be called where calls go straight to the kernels.
        """
        by_device: dict[torch.device, list[tuple[int, Tensor]]] = {}
        for row, gradient in gradients:
            by_device.setdefault(gradient.device, []).append((row, gradient))
        for device, found in by_device.items():
            rows = tuple(row for row, _ in found)
            now = torch.zeros(len(found), ENTRIES, device=device)
            for line, (_, gradient) in zip(now.unbind(), found, strict=True):
                some = sampled(gradient, ENTRIES)
                line[: some.numel()].copy_(some)
            # Squares of very small or large ones would leave the range of float32.
            self._now[rows] = now.div_(now.abs().amax(1, keepdim=True).clamp_min_(torch.finfo(now.dtype).tiny))
            before = self._before.get(rows)
            if before is not None:
                yield from zip(rows, _cosines(now, before).unbind(), strict=True)

    def stepped(self) -> None:
        """What comes now is of the next step."""
        gone = {row for rows in self._now for row in rows}
        self._before = {rows: kept for rows, kept in self._before.items() if gone.isdisjoint(rows)} | self._now
        self._now = {}


def _cosines(now: Tensor, before: Tensor) -> Tensor:
    products = now * before
    both = products != 0
    norms = (now.square() * both).sum(1) * (before.square() * both).sum(1)
    return torch.where(both.sum(1) >= _FEWEST, products.sum(1) / norms.sqrt_(), UNMEASURED)
