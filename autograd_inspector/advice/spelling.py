"""How a sentence calls a tensor, and how code does: only what the program itself could write belongs into code."""

from __future__ import annotations

import ast
import re

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.location import Location
from autograd_inspector.source.fragments import expression, statement
from autograd_inspector.source.writing import written

_SHAPE = re.compile(r"(bool|bfloat|float|complex|int|uint|quint|qint)\w*\[[\d, ]*\]$")


def is_path(text: str) -> bool:
    """Whether it is a variable, an attribute or an item, as Python spells them: ``self.queue``, ``batch["logp"]``.

    ``float32[3, 2]`` is how a tensor without a name is called, and no item of a variable.
    """
    if _SHAPE.match(text):
        return False
    node = expression(text)
    return node is not None and _is_path(node)


def assignable(name: str, analysis: Analysis, tensor: int) -> bool:
    """Whether ``name = ...`` is Python and means the tensor: a layer's path (`2.v`) or a bare shape is no variable."""
    names, variable = analysis.capture.display_names, analysis.capture.tensors[tensor].variable
    return is_path(name) and not (name in names.every_name_of(tensor) and name != variable)


def copy_of(analysis: Analysis, name: str) -> str:
    """A copy of what the findings call ``name``, as code where that is Python: "`hidden.clone()`"."""
    return (
        f"`{name}.clone()`"
        if is_path(name) and not analysis.capture.display_names.is_registered(name)
        else f"a copy (`.clone()`) of {name}"
    )


def method_on(name: str, call: str) -> str:
    """``hidden.retain_grad()``, or in words where the name is no Python: "retain_grad() on 2.v"."""
    return f"{name}.{call}" if is_path(name) else f"{call} on {name}"


def copied_array(name: str) -> str:
    """A NumPy copy of it, as code where the name is Python."""
    return f"`{name}.detach().numpy().copy()`" if is_path(name) else "`.detach().numpy().copy()`"


def path_in(place: Location | None, last: str) -> str:
    """The expression on a line that reads what a tensor is called: ``self.queue`` for ``queue``; "" for none or two."""
    if place is None:
        return ""
    for text in (place.expression, place.source.strip()):
        part = statement(text)
        paths = {
            written(node)
            for node in ast.walk((part.value if isinstance(part, ast.Assign) else part) or ast.Pass())
            if (isinstance(node, ast.Attribute) and node.attr == last and _is_path(node))
            or (isinstance(node, ast.Name) and node.id == last)
        }
        if len(paths) == 1:
            return paths.pop()
    return ""


def _is_path(node: ast.expr) -> bool:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return isinstance(node, ast.Name)
