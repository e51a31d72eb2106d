"""The local variables of running frames, read without keeping any of them alive."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import compress, islice
from operator import and_
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, TypeVar

from torch import Tensor, nn

from autograd_inspector.capture.lines.attributes import items_of, own_attributes
from autograd_inspector.capture.lines.frame_locals import locals_of
from autograd_inspector.capture.lines.kinds import Kinds
from autograd_inspector.capture.lines.stacks import USER, classify
from autograd_inspector.capture.torch_private.modules import MADE
from autograd_inspector.capture.torch_private.told import COMPILED_GRAPH

T = TypeVar("T")

_CONTAINERS = (list, tuple, dict)
_EMPTY = Kinds(FunctionType, ModuleType, type, str, int, float, bool, type(None))
"""What most variables of a module are, which holds nothing that is looked for."""
_LONGEST = 1000
"""Of a container that is longer only the first entries are looked at."""

Chosen = Callable[[Iterable[Any]], Iterable[bool]]
"""Of each entry of a container whether it is asked for."""


def variables(frame: FrameType) -> list[tuple[str, Any]]:
    """(name, value) of a frame's locals and of its module's globals."""
    return [*locals_of(frame), *items_of(frame.f_globals)]


def is_dynamos(code: CodeType) -> bool:
    """Whether Dynamo wrote it in the place of the user's: its variables are Dynamo's own."""
    return any(name.startswith(COMPILED_GRAPH) for name in code.co_names)


def user_frames(stop: FrameType | None) -> Iterator[FrameType]:
    """The user's frames from here outwards, up to the one that opened the capture."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if classify(frame.f_code.co_filename) == USER and not is_dynamos(frame.f_code):
            yield frame
        if frame is stop:
            return
        frame = frame.f_back


def names_of(tensors: dict[int, int], stop: FrameType | None) -> dict[int, str]:
    """Tensor id -> the variable that holds it, ``params[1]`` in a list and ``params['w']`` in a dictionary.

    ``tensors`` maps Python's id of a tensor to ours. The outermost frame's name for it is the program's own name; a
    variable of its own is better than a place in a container.
    """
    names: dict[int, str] = {}
    for name, tensor in held_tensors(stop):
        if id(tensor) in tensors:
            names.setdefault(tensors[id(tensor)], name)
    return names


def held_tensors(stop: FrameType | None) -> Iterator[tuple[str, Tensor]]:
    """(name, tensor) of all that the user's running frames and their modules hold, the best names first."""
    inside: list[tuple[str, Tensor]] = []
    attributes: list[tuple[str, Tensor]] = []
    for frame in reversed(list(user_frames(stop))):
        for name, value in variables(frame):
            if type(name) is not str or type(value) in _EMPTY or name.startswith("_"):
                continue
            if _is(value, Tensor):
                yield name, value
            elif _is(value, _CONTAINERS):
                inside += _within(name, value, Tensor)
            else:
                attributes += _within(name, value, Tensor)
    yield from inside
    yield from attributes


def held_modules(stop: FrameType | None, chosen: Chosen | None = None) -> Iterator[tuple[str, nn.Module]]:
    """(name, module) of all that the user's running frames hold, the innermost frame's first.

    Those in variables come first, then what containers and plain objects in variables hold: ``agent.policy``. Of these
    only the chosen: a program has few variables, but may keep a thousand models in a list.
    """
    inside: list[tuple[str, nn.Module]] = []
    for frame in user_frames(stop):
        for name, value in variables(frame):
            if type(name) is not str or type(value) in _EMPTY:
                continue
            if _is(value, nn.Module):
                if _complete(value):
                    yield name, value
            elif not name.startswith("_"):
                held_inside = _within(name, value, nn.Module, chosen)
                inside += [(place, held) for place, held in held_inside if _complete(held)]
    yield from inside


def _complete(module: nn.Module) -> bool:
    """Whether ``nn.Module.__init__`` has run: before that a module has no children to ask for."""
    return MADE in attributes_of(module)


def _within(name: str, value: Any, kind: type[T], chosen: Chosen | None = None) -> Iterator[tuple[str, T]]:
    """What a container or a plain object has of a kind, and how the program would write it."""
    if _is(value, _CONTAINERS):
        return ((f"{name}[{place!r}]", entry) for place, entry in _entries(value, kind, chosen))
    if _is(value, (type, ModuleType, FunctionType)):
        return iter(())
    return ((f"{name}.{place}", entry) for place, entry in _entries(attributes_of(value), kind, chosen))


def _is(value: Any, kind: type | tuple[type, ...]) -> bool:
    """As isinstance(), which would ask the value for its ``__class__``: that may be code of the program's."""
    return issubclass(type(value), kind)


def attributes_of(value: Any) -> dict[Any, Any]:
    """An object's own attributes, without running any code of its class."""
    attributes = own_attributes(value)
    return attributes if attributes is not None and type(attributes) is dict else {}


def _entries(container: Any, kind: type[T], chosen: Chosen | None) -> Iterator[tuple[Any, T]]:
    # A list of them first: the container may change meanwhile, by another thread.
    if _is(container, dict):
        keyed_entries = items_of(container, _LONGEST)
    else:
        every = list.__iter__(container) if _is(container, list) else tuple.__iter__(container)
        keyed_entries = list(islice(enumerate(every), _LONGEST))
    entries = [entry for _, entry in keyed_entries]
    types = list(map(id, map(type, entries)))  # By identity: a metaclass of the program's may refuse to be hashed.
    kinds = {number for number, each in dict(zip(types, entries, strict=True)).items() if _is(each, kind)}
    if not kinds:
        return iter(())
    fitting = map(kinds.__contains__, types)
    return compress(keyed_entries, fitting if chosen is None else map(and_, fitting, chosen(entries)))
