"""What a pickle would have on its stack, as far as it matters how much it is."""

from __future__ import annotations

from typing import Any


class HostileError(Exception):
    """A checkpoint asks for more than it holds: what it has, to go on after the file's name."""


class UnreadError(Exception):
    """A pickle goes on in a way that ``weights_only=True`` does not read: torch says so itself."""


class Built:
    """Anything but a number or a short text.

    ``weight`` counts the objects in it, shared ones as often as they stand there; ``depth`` how deep they are nested.
    ``items``: those of a tuple, or the name of a global. ``nbytes``: of a storage, and of the storage behind a tensor.
    ``numel``: of a tensor. ``held``: it was put into something else.
    """

    __slots__ = ("depth", "held", "items", "kind", "nbytes", "numel", "weight")

    def __init__(self, kind: str, *, items: Any = (), weight: int = 1, nbytes: int = 0, numel: int = 0) -> None:
        self.kind = kind
        self.items = items
        self.weight = weight
        self.nbytes = nbytes
        self.numel = numel
        self.depth = 0
        self.held = False


def weight_of(value: Any) -> int:
    """How many objects a value is."""
    return value.weight if isinstance(value, Built) else 1


def items_of(value: Any) -> tuple[Any, ...]:
    """The members of a tuple, () of anything else."""
    return value.items if isinstance(value, Built) and value.kind == "tuple" else ()


def numbers_in(value: Any) -> tuple[int, ...] | None:
    """A tuple of integers, None where it is something else."""
    if not isinstance(value, Built) or value.kind != "tuple":
        return None
    return value.items if all(type(item) is int for item in value.items) else None
