"""Where one iteration of the training loop ends and the next begins, told by which optimizers step."""

from __future__ import annotations

_PATIENCE = 16
"""So often an optimizer steps while another that belongs to the iteration does not: then that one is not waited for."""

_MOST = 256
"""Steps of optimizers that never step twice (a new one is made each time): an iteration has no more than these."""


class Iterations:
    """A new iteration begins where the optimizer that stepped first in the present one steps again.

    It does not while one that stepped in the iteration before is still awaited: a GAN's critic steps five times for
    each step of its generator. Gradient accumulation needs no rule: several backwards, one step.
    """

    def __init__(self) -> None:
        self._stepped: dict[int, int] = {}
        """Optimizer -> how often it has stepped in the present iteration, in the order of their first steps."""
        self._before: frozenset[int] = frozenset()
        """Those that stepped in the iteration before."""

    def stepped(self, optimizer: int) -> bool:
        """That optimizer has made a step; whether it is the first step of a new iteration."""
        begins = self._begins(optimizer)
        if begins:
            self._before, self._stepped = frozenset(self._stepped), {}
        self._stepped[optimizer] = self._stepped.get(optimizer, 0) + 1
        return begins

    @property
    def complete(self) -> bool:
        """Whether every optimizer of the iteration before has stepped in this one too."""
        return bool(self._stepped) and self._before <= self._stepped.keys()

    def _begins(self, optimizer: int) -> bool:
        times = self._stepped.get(optimizer, 0)
        if not times:
            return sum(self._stepped.values()) >= _MOST
        if times >= _PATIENCE:
            return True
        return optimizer == next(iter(self._stepped)) and self.complete
