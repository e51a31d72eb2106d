"""Which modules were met, and where they stood when the model that they are in was last looked at."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Collection, Iterable, Iterator
from itertools import repeat
from typing import Any, NamedTuple

from torch import nn

from autograd_inspector.capture.module_tree import modules_of


class Root:
    """A module that nobody contains, as far as the capture saw: its name and what its tensors are called."""

    def __init__(self, module: nn.Module, number: int) -> None:
        self.ref = weakref.ref(module)
        self.type = type(module).__name__
        self.number = number
        self.variable = ""
        self.predecessor = -1
        """The number of the model that this one was a part of until that was gone; -1: none."""


class Place(NamedTuple):
    """Where a module stands: its path in a root."""

    root: Root
    path: str

    @property
    def gone(self) -> bool:
        """Whether nobody holds that root any more."""
        return self.root.ref() is None


class KnownModules:
    """By Python's id of a module, of which a weak reference tells whether it is still the same one."""

    def __init__(self) -> None:
        self._refs: dict[int, weakref.ref[nn.Module]] = {}
        self._roots: dict[int, weakref.ref[nn.Module]] = {}
        """Of each module that of its root."""
        self._numbers: dict[int, int] = {}
        """Of each module the number of its root."""
        self._places: dict[int, Place] = {}
        self._within: dict[int, set[int]] = {}
        """The roots that have it, by number: it may be part of several."""
        self._root_by_id: dict[int, Root] = {}
        """The roots themselves."""
        self._calls: dict[int, int] = {}

    def place_of(self, module: nn.Module) -> Place | None:
        """Where a module stands, None where it was never met."""
        key = id(module)
        ref = self._refs.get(key)
        return self._places[key] if ref is not None and ref() is module else None

    def put(self, module: nn.Module, root: Root, path: str) -> Root | None:
        """A module was seen there. One that is part of another root stays known as that, until that has become a part.

        Parts are put behind what they are in. Returns the root that the module was itself until now.
        """
        key, place = id(module), self.place_of(module)
        if place is None:
            self._within[key] = set()
            self._calls.pop(key, None)
        self._within[key].add(root.number)
        if place is None or place.root is root or not place.path or self._has_moved(place.root, root):
            self._places[key], self._roots[key], self._numbers[key] = Place(root, path), root.ref, root.number
            self._refs[key] = weakref.ref(module)
        return None if place is None or place.root is root or place.path else place.root

    def _has_moved(self, old: Root, new: Root) -> bool:
        """Whether a root is gone, or was put into another one."""
        model = old.ref()
        place = None if model is None else self.place_of(model)
        return model is None or (place is not None and place.root is new)

    def root_of(self, module: nn.Module) -> Root | None:
        """The root that a module is itself, None where it is none that was met."""
        root = self._root_by_id.get(id(module))
        return root if root is not None and root.ref() is module else None

    def add_root(self, module: nn.Module, root: Root) -> None:
        """A module is a root from now on."""
        self._root_by_id[id(module)] = root

    def roots_with(self, module: nn.Module) -> Iterator[int]:
        """The numbers of the roots that have a module, or something in it."""
        for part in modules_of(module):
            if self.place_of(part) is not None:
                yield from self._within[id(part)]

    def nth_call(self, module: nn.Module) -> int:
        """Which call of that module this is, counted from 1."""
        nth = self._calls[id(module)] = self._calls.get(id(module), 0) + 1
        return nth

    def unknown(self, stale: Collection[int], entries: Iterable[Any]) -> Iterator[bool]:
        """Of each entry of a container whether it may be, or contain, a module that was never met.

        ``stale``: the numbers of the roots in which something may have been exchanged. No loop of Python's: a program
        may keep a thousand models in a list, and make one more again and again.
        """
        held = list(entries)
        ids = list(map(id, held))
        other = map(operator.is_not, map(operator.call, map(self._refs.get, ids, repeat(object))), held)
        gone = map(operator.is_, map(operator.call, map(self._roots.get, ids, repeat(object))), repeat(None))
        unsettled = map(stale.__contains__, map(self._numbers.get, ids))
        return map(operator.or_, map(operator.or_, other, gone), unsettled)

    def fold(self, roots: Collection[int]) -> None:
        """Forget the modules that are gone, and those of roots that are not among these."""
        gone = [key for key, ref in self._refs.items() if ref() is None or self._places[key].root.number not in roots]
        for key in gone:
            for table in (self._refs, self._roots, self._numbers, self._places, self._within):
                table.pop(key, None)
        self._root_by_id = {
            key: root for key, root in self._root_by_id.items() if root.number in roots and root.ref() is not None
        }
        self._calls = {key: count for key, count in self._calls.items() if key in self._refs}
