"""The tensors inside a parameter's optimizer state, however it is nested; no code of the program runs for it."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any, NamedTuple

from torch import Tensor, nn
from torch.optim import Optimizer

from autograd_inspector.capture.lines.attributes import (
    entries_of,
    looked_up,
    members_of,
    module_of,
    order_of,
    own_attributes,
)
from autograd_inspector.capture.lines.kinds import Kinds
from autograd_inspector.capture.torch_private.modules import own_buffers, own_children, own_parameters
from autograd_inspector.interrupts import is_interrupt

_MOST = 100_000
"""So many values of an optimizer's states are looked at, but for those that stand in a state itself."""
_DEEPEST = 64
_LONGEST = 40
_ATOMS = Kinds(int, float, bool, str, bytes, complex, type(None))
_PLAIN = Kinds(*_ATOMS.kinds, Tensor)
_NAMES = Kinds(str)
_SHARED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, Optimizer)
"""What is not the state's own, or has no memory to speak of."""


class Found(NamedTuple):
    """A tensor, what the program writes for it behind ``state[p]``, and the class of the object that has it."""

    name: str
    tensor: Tensor
    holder: str = ""


def plain_contents(state: Any) -> list[Found] | None:
    """The tensors of a state that consists of nothing but plain tensors and numbers, as most do; None of any other."""
    if type(state) is not dict or not _PLAIN.issuperset(map(type, state.values())):
        return None
    if not _NAMES.issuperset(map(type, state)):
        return None
    return [Found(name, value) for name, value in state.items() if type(value) is Tensor]


Parts = Iterator[tuple[str, Any, str]]
"""(name, value, holder)."""


class Allowance:
    """How many values below the states themselves may still be looked at: an object may lead to the whole program."""

    def __init__(self) -> None:
        self.left = _MOST


class StateContents:
    """What a state holds: its tensors, and what cannot be looked into (name -> why)."""

    def __init__(self, state: Any, allowance: Allowance | None = None) -> None:
        self.tensors: list[Found] = []
        self.left: dict[str, str] = {}
        self._allowance = allowance or Allowance()
        self._seen = {id(state)}
        # A generator of its own for each value would cost more than the rest: by far most are tensors in a dictionary.
        todo = [_parts("", state, top=True) or iter(())]
        while todo:
            below = self._next(todo[-1], len(todo))
            if below is None:
                todo.pop()
            else:
                todo.append(below)

    def _next(self, values: Parts, depth: int) -> Parts | None:
        """Take in values up to one that has parts of its own, and return these; None at the end."""
        for name, value, holder in values:
            if depth > 1:
                if self._allowance.left <= 0:
                    self.left.setdefault(f"{name} and what follows", f"more than {_MOST:,} values")
                    return None
                self._allowance.left -= 1
            if issubclass(type(value), Tensor):
                self.tensors.append(Found(name, value, holder))
            elif type(value) not in _ATOMS and id(value) not in self._seen:
                self._seen.add(id(value))
                below = _parts(name, value, holder=holder) if depth < _DEEPEST else None
                if below is not None:
                    return below
                why = _opaque(value) if depth < _DEEPEST else f"deeper than {_DEEPEST} levels"
                if why:
                    self.left[name] = why
        return None


_LISTED: dict[type[Any], str] = {list: "[{}]", tuple: "[{}]", deque: "[{}]", set: "{{{}}}", frozenset: "{{{}}}"}


def _parts(name: str, value: Any, holder: str = "", *, top: bool = False) -> Parts | None:
    """What something consists of; None of what has no parts, or none that can be seen.

    Asked by its type: ``isinstance`` may ask the object itself.
    """
    value_type = type(value)
    if issubclass(value_type, dict):
        return iter([(_keyed(name, key, top=top), entry, holder) for key, entry in dict.items(value)])
    named = getattr(value_type, "_fields", None)
    if issubclass(value_type, tuple) and isinstance(named, tuple):
        fields = zip(named, tuple.__iter__(value), strict=False)
        return iter([(_attribute(name, field), entry, holder) for field, entry in fields])
    for kind, place in _LISTED.items():
        if issubclass(value_type, kind):
            return iter([(f"{name}{place.format(i)}", entry, holder) for i, entry in enumerate(kind.__iter__(value))])
    if issubclass(value_type, _SHARED):
        return None
    attributes = dict(_attributes(value))
    return iter([(_attribute(name, k), v, value_type.__name__) for k, v in attributes.items()]) if attributes else None


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """What an object has of its own, past any ``__getattr__`` of the program's."""
    if issubclass(type(value), nn.Module):
        for own in (own_parameters, own_buffers, own_children):
            yield from entries_of(own(value))
        return
    for kind in reversed(order_of(type(value))):
        for name, member in list(members_of(kind).items()):
            if type(member) is types.MemberDescriptorType and name not in {"__dict__", "__weakref__"}:
                try:
                    yield name, member.__get__(value)
                except AttributeError:
                    continue  # The slot is empty.
    attributes = own_attributes(value)
    yield from () if attributes is None else dict.items(attributes)


def _opaque(value: Any) -> str:
    """Why something that may well have memory was not looked into, "" of what has none."""
    kind = type(value)
    if kind is types.FunctionType:
        held = [cell.cell_contents for cell in value.__closure__ or () if _filled(cell)]
        return "a function with tensors in its closure" if any(isinstance(each, Tensor) for each in held) else ""
    try:
        opaque = issubclass(kind, Iterator) or (
            issubclass(kind, (Mapping, Sequence, AbstractSet)) and module_of(kind) != "builtins"
        )
    except Exception as failure:  # Python hashes the class, which may refuse.
        if is_interrupt(failure):
            raise
        opaque = True
    array = looked_up(kind, "__array_interface__") is not None
    return f"{module_of(kind)}.{kind.__qualname__}" if opaque or array else ""


def _filled(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _keyed(name: str, key: Any, *, top: bool) -> str:
    """``exp_avg`` of the state's own keys, ``factors["left"]`` and ``factors[0]`` further down."""
    if top:
        return key if type(key) is str else _key_text(key)
    return f"{name}[{_key_text(key)}]"


def _key_text(key: Any) -> str:
    if type(key) is str:
        return f'"{key}"' if '"' not in key else repr(key)
    text = repr(key) if type(key) in _ATOMS else type(key).__name__
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _attribute(name: str, attribute: str) -> str:
    return f"{name}.{attribute}" if name else attribute


def under_no_parameter(state: Mapping[Any, Any]) -> Iterator[tuple[str, list[Found]]]:
    """(``state["shared"]``, its tensors) of what an optimizer keeps under keys that are no parameters."""
    for key, entry in islice(state.items(), _MOST):
        if not isinstance(key, Tensor):
            tensors = StateContents(entry).tensors
            if tensors:
                yield f"state[{_key_text(key)}]", tensors
