"""The grad-mode regions that lie around the current one: where the program goes when a switch is undone."""

from __future__ import annotations

from collections.abc import Iterator


class OuterRegions:
    """A stack that has one entry for a region that lies there many times in a row.

    ``torch.set_grad_enabled(True)`` called as a function is never undone: a loop that does so would fill the stack.
    """

    def __init__(self) -> None:
        self._runs: list[tuple[int, int]] = []
        """(region, how many regions there are up to the last time in a row that it lies there), the innermost last."""

    def __len__(self) -> int:
        return self._runs[-1][1] if self._runs else 0

    def innermost_first(self) -> Iterator[int]:
        """The regions, each once where it lies there several times in a row."""
        return (region for region, _ in reversed(self._runs))

    def push(self, region: int) -> None:
        """That region is left for one inside it."""
        depth = len(self)
        kept = len(self._runs) - 1 if self._runs and self._runs[-1][0] == region else len(self._runs)
        self._runs[kept:] = [(region, depth + 1)]  # In one step: an interrupt must not leave half of it.

    def cut(self, depth: int) -> None:
        """Only so many regions lie around the current one."""
        runs = self._runs
        kept = len(runs)
        while kept and (runs[kept - 2][1] if kept > 1 else 0) >= depth:
            kept -= 1
        if kept and runs[kept - 1][1] > depth:
            runs[kept - 1 :] = [(runs[kept - 1][0], depth)]
        else:
            del runs[kept:]

    def back_to(self, region: int) -> None:
        """That one, which lies there, is entered again: the innermost time that it does."""
        place = next(place for place in range(len(self._runs) - 1, -1, -1) if self._runs[place][0] == region)
        self.cut(self._runs[place][1] - 1)
