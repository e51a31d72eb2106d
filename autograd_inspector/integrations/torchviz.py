"""torchviz: its own picture of a graph, with the names of our parameters."""

from __future__ import annotations

import re
import warnings
from typing import Any

from graphviz import Digraph

_NODE = re.compile(r"(?<=^\t)\d+(?= )|(?<= -> )\d+")
"""Where a line of torchviz's DOT text names a node: by the address of a Python object."""


class PictureError(RuntimeError):
    """torchviz cannot draw this."""


def picture(value: Any, *models: Any) -> Digraph:
    """What ``torchviz.make_dot`` draws below a tensor, with the parameters of ``models`` named.

    With several models each name starts with its model's class. Nodes are numbered in order instead of by
    address, so that the same graph gives the same text.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # torchviz compares versions through distutils
            from torchviz import make_dot

            graph: Digraph = make_dot(value, params=_names(models))
    except RecursionError:
        raise PictureError(
            "autograd_inspector: this graph is too deep for torchviz, which draws by recursion; "
            "use %autograd_inspect without --torchviz"
        ) from None
    except AttributeError:
        raise PictureError(f"autograd_inspector: torchviz draws tensors, not {type(value).__name__}") from None
    numbers: dict[str, str] = {}

    def numbered(at: re.Match[str]) -> str:
        return numbers.setdefault(at.group(), f"n{len(numbers)}")

    graph.body = [_NODE.sub(numbered, line) for line in graph.body]
    return graph


def _names(models: tuple[Any, ...]) -> dict[str, Any]:
    parameter_of_name: dict[str, Any] = {}
    for model in models:
        prefix = f"{type(model).__name__}." if len(models) > 1 else ""
        for name, parameter in model.named_parameters():
            unique = prefix + name
            number = 2
            while unique in parameter_of_name:
                unique, number = f"{prefix}{name} ({number})", number + 1
            parameter_of_name[unique] = parameter
    return parameter_of_name
