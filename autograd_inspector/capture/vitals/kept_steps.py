"""Which steps of a long run are kept: all of a short one, of a long one more at its two ends than between."""

from __future__ import annotations

_LEAST = 3


class KeptSteps:
    """At most ``capacity`` step numbers, the first and the last always among them.

    The distance between neighbours grows with that to the nearer end, so that the beginning of a run, where most goes
    wrong, and what happened last are both seen step by step.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < _LEAST:
            raise ValueError("the first, the last and one between are kept at least")
        self.capacity = capacity
        self.numbers: list[int] = []
        self.seen = 0

    def add(self, number: int) -> int:
        """One more step, later than all before. Returns the place of the step that has to go, -1 for none."""
        self.seen += 1
        self.numbers.append(number)
        if len(self.numbers) <= self.capacity:
            return -1
        return self.drop()

    def drop(self) -> int:
        """Let go of the step between the ends that is missed least; returns its place."""
        numbers = self.numbers
        first, last = numbers[0], numbers[-1]
        place = min(
            range(1, len(numbers) - 1),
            key=lambda i: (
                (numbers[i + 1] - numbers[i - 1]) / min(numbers[i] - first + 1, last - numbers[i] + 1),
                i,
            ),
        )
        del numbers[place]
        return place
