"""Losses that are not to be divided."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograd_inspector.model.location import Location
from autograd_inspector.model.remedy import Remedies, Remove
from autograd_inspector.source import fragments


def undivided(place: Location | None) -> Iterator[Remedies]:
    """Without a statement that does nothing else: ``loss = loss / steps``, ``loss /= steps``."""
    if place is None:
        return
    match fragments.statement(place.source):
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=left))) if name == left:
            yield (Remove(place),)
        case ast.AugAssign(target=ast.Name()):
            yield (Remove(place),)
