"""What a kind of fault is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .anatomy import Anatomy, Planted
from .effects import CHANGES, LEAKS, STARVES


@dataclass(frozen=True)
class Kind:
    """A fault, and where a program can have it."""

    name: str
    plant: Callable[[Anatomy], Iterable[Planted]]
    """Every way of planting it into a program."""
    values: bool = False
    """Nobody can know it who does not read numbers."""
    sound: frozenset[str] = frozenset()
    """With one of these effects it is another program without a fault."""
    always: bool = False
    """A fault at any numbers: where a run shows nothing of it, that is by chance (no norm was above the limit)."""
    minor: frozenset[str] = frozenset()
    """With one of these effects an info says enough: such a program may be meant."""


PARTIAL = frozenset({CHANGES})
"""Every parameter still has a gradient: one of several ways is cut, as a stop-gradient does."""
ANY = frozenset({CHANGES, STARVES, LEAKS})
"""Unless it raises: nothing but the intention makes it a fault."""
