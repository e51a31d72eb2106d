"""What a class and an object have of their own, read past all that the program may have put in the way.

A metaclass, a class and a module may each compute what Python reads of them by default: that is the program's code.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

from autograd_inspector.capture.lines.kinds import Kinds

order_of = vars(type)["__mro__"].__get__
"""The order of resolution of a class."""
members_of = vars(type)["__dict__"].__get__
"""What a class itself defines."""
_MODULE_OF = vars(type)["__module__"].__get__
contents_of = vars(ModuleType)["__dict__"].__get__
"""The names of a module."""

_TRIES = 3
_IN_C = Kinds(dict, OrderedDict, defaultdict)
_BY_PYTHON = (GetSetDescriptorType, MemberDescriptorType)


def looked_up(kind: type, name: str) -> Any:
    """What a class or the first of its bases defines under a name, as it stands there; None where none does."""
    for base in order_of(kind):
        members: Mapping[str, Any] = members_of(base)
        if name in members:
            return members[name]
    return None


def module_of(kind: type) -> str:
    """The module that defines a class; "" where the program has put something else in that place."""
    with suppress(AttributeError):
        module = _MODULE_OF(kind)
        if type(module) is str:
            return module
    return ""


def own_attributes(value: Any) -> dict[Any, Any] | None:
    """The dictionary of an object; None where it has none, or where its class computes one."""
    if type(looked_up(type(value), "__dict__")) not in _BY_PYTHON:
        return None
    attributes = object.__getattribute__(value, "__dict__")
    return attributes if issubclass(type(attributes), dict) else None


def items_of(held: dict[Any, Any], most: int | None = None) -> list[tuple[Any, Any]]:
    """The first entries of a dictionary of the program's; none where it changes at each look.

    Another thread may change it meanwhile, and so may what the garbage collector calls: it runs where the list grows.
    """
    for _ in range(_TRIES):
        with suppress(RuntimeError):
            return list(islice(dict.items(held), most))
    return []


def entries_of(table: Any) -> list[tuple[Any, Any]]:
    """The entries of a module's table, read past its class; that of a scripted module is no dictionary."""
    return items_of(table) if issubclass(type(table), dict) else list(table.items())


def plain(held: dict[Any, Any]) -> dict[Any, Any]:
    """A dictionary; of one whose class is the program's what it holds now: that class may compute what it tells."""
    return held if type(held) in _IN_C else dict(items_of(held))
