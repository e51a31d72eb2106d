"""What a module contains, read from the tables that it keeps: ``named_parameters()`` and the like may be overridden.

Order and names are those of torch's own methods. A module that contains itself is no problem.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from torch import Tensor, nn

from autograd_inspector.capture.lines.attributes import entries_of
from autograd_inspector.capture.torch_private.modules import own_buffers, own_children, own_parameters

_MOST_AGAIN = 4_000
"""So often a module is found once more: parts that each have another part twice have twice as many paths a level."""


def named_modules(root: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """(path, module) of a module and of all inside it, each once, under its first path."""
    seen: set[int] = set()
    todo = [("", root)]
    while todo:
        path, module = todo.pop()
        if id(module) not in seen:
            seen.add(id(module))
            yield path, module
            todo += [(joined(path, name), child) for name, child in reversed(_children(module))]


def every_path(root: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """(path, module): one that is in several places has several paths, as long as there are not too many of them."""
    todo: list[tuple[str, nn.Module, tuple[int, ...]]] = [("", root, ())]
    met: set[int] = set()
    left = _MOST_AGAIN
    while todo:
        path, module, outside = todo.pop()
        again = id(module) in met
        if id(module) not in outside and (left or not again):
            met.add(id(module))
            left -= again
            yield path, module
            inside = (*outside, id(module))
            todo += [(joined(path, name), child, inside) for name, child in reversed(_children(module))]


def first_paths(places: Iterable[tuple[str, nn.Module]]) -> list[tuple[str, nn.Module]]:
    """Of every path those of ``named_modules``: each module once, under its first path."""
    first: dict[int, tuple[str, nn.Module]] = {}
    for place in places:
        first.setdefault(id(place[1]), place)
    return list(first.values())


def modules_of(root: nn.Module) -> Iterator[nn.Module]:
    """A module and all inside it, each once."""
    return (module for _, module in named_modules(root))


def parameters_of(root: nn.Module) -> Iterator[Tensor]:
    """All parameters of a module, each once."""
    return _once(own_parameters, root)


def buffers_of(root: nn.Module) -> Iterator[Tensor]:
    """All buffers of a module, each once."""
    return _once(own_buffers, root)


def named_parameters(root: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """(name, parameter): one that is in several places has several names."""
    return _under_every_name(own_parameters, root)


def named_buffers(root: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """(name, buffer), likewise."""
    return _under_every_name(own_buffers, root)


def tensors_at(
    places: Collection[tuple[str, nn.Module]],
) -> tuple[list[tuple[str, Tensor]], list[tuple[str, Tensor]]]:
    """The named parameters and the named buffers of modules that stand at these paths."""
    return list(_named(own_parameters, places)), list(_named(own_buffers, places))


def joined(path: str, name: str) -> str:
    """The path of what is called so in the module under a path."""
    return f"{path}.{name}" if path else name


Table = Callable[[nn.Module], Any]


def _children(module: nn.Module) -> list[tuple[str, nn.Module]]:
    return [(name, child) for name, child in entries_of(own_children(module)) if issubclass(type(child), nn.Module)]


def _tensors(table: Table, module: nn.Module) -> list[tuple[str, Tensor]]:
    return [(name, held) for name, held in entries_of(table(module)) if issubclass(type(held), Tensor)]


def _once(table: Table, root: nn.Module) -> Iterator[Tensor]:
    seen: set[int] = set()
    for _, module in named_modules(root):
        for _, tensor in _tensors(table, module):
            if id(tensor) not in seen:
                seen.add(id(tensor))
                yield tensor


def _under_every_name(table: Table, root: nn.Module) -> Iterator[tuple[str, Tensor]]:
    return _named(table, every_path(root))


def _named(table: Table, places: Iterable[tuple[str, nn.Module]]) -> Iterator[tuple[str, Tensor]]:
    for path, module in places:
        for name, tensor in _tensors(table, module):
            yield joined(path, name), tensor
