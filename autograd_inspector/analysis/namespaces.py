"""Whether an expression calls a function of a module or a class, or a method of a value."""

from __future__ import annotations

import ast

from autograd_inspector.model.location import Location
from autograd_inspector.source.writing import written


def is_value(place: Location, owner: ast.expr) -> bool:
    """Whether what a call is looked up in is a value, and none of the modules and classes that the place names."""
    return written(owner) not in place.namespaces
