"""How a private name of torch's is looked up, and what is said of one that is missing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from importlib.machinery import PathFinder
from types import CodeType, FunctionType, ModuleType
from typing import Any

import torch
from msgspec import Struct

from autograd_inspector.model.wording import agree

MISSING: Any = object()
_SUBMODULE = ":"


class Private(Struct, frozen=True):
    """One name, as ``module:dotted.name``.

    ``without``: what a report lacks where it is missing, "" where something else does the same. ``needed``: nothing
    can be observed without it. ``late``: its module is imported only by programs that use it. ``of_objects``: it is
    read of objects, whatever class they have; the class in the path stands for them.
    """

    path: str
    use: str
    without: str = ""
    needed: bool = False
    late: bool = False
    of_objects: bool = False

    @property
    def name(self) -> str:
        """As it is written in Python: ``torch.Tensor._version``."""
        return self.path.replace(_SUBMODULE, ".")

    @property
    def missing(self) -> bool:
        """Whether torch has none of that name. One whose module was not imported is not missed."""
        if self.late and self.path.partition(_SUBMODULE)[0] not in sys.modules:
            return False
        if self.of_objects and find(self.path.rpartition(".")[0]) is MISSING:
            return False  # The class is elsewhere. There is no telling what its objects have.
        return find(self.path) is MISSING


class UnsupportedTorch(RuntimeError):  # noqa: N818 - names the torch that there is, as TimeoutError names a time
    """This version of torch lacks names without which nothing can be observed, or not what the program does."""

    def __init__(self, gone: Iterable[Private], where: str = "") -> None:
        names = [name.name for name in gone]
        what = f"torch {torch.__version__} cannot be inspected {where}".rstrip()
        super().__init__(f"{what}: {', '.join(names)} {agree(names, 'is', 'are')} missing")


TABLE: dict[str, Private] = {}
"""All of them, by path."""


def find(path: str) -> Any:
    """What stands under a name, or a sign that something does; MISSING where nothing does."""
    module, _, names = path.partition(_SUBMODULE)
    value: Any = sys.modules.get(module, MISSING)
    for name in filter(None, names.split(".")):
        owner, value = value, read(value, name)
        if value is MISSING:
            return _sign_of(owner, name)
    return value


def read(owner: Any, name: str) -> Any:
    """An attribute of an object, MISSING where it has none."""
    return getattr(owner, name, MISSING)


def _sign_of(owner: Any, name: str) -> Any:
    """Of what only instances have their class has an annotation, or the function that sets it has the name.

    A module may not be imported yet, a function inside another not be made.
    """
    if isinstance(owner, type):
        return vars(owner).get("__annotations__", {}).get(name, MISSING)
    if isinstance(owner, ModuleType):
        return PathFinder.find_spec(f"{owner.__name__}.{name}", getattr(owner, "__path__", [])) or MISSING
    code = owner.__code__ if isinstance(owner, FunctionType) else None
    if code is None:
        return MISSING
    made = next((each for each in code.co_consts if isinstance(each, CodeType) and each.co_name == name), MISSING)
    return code if made is MISSING and name in code.co_names else made


def private(path: str, use: str, *, instead: Any = MISSING, without: str = "") -> Any:
    """What stands under the name, else ``instead``; without either, something that raises when it is called."""
    _declare(Private(path, use, without, needed=instead is MISSING))
    value = find(path)
    if value is not MISSING:
        return value
    return _refuse if instead is MISSING else instead


def spare(path: str, use: str) -> Any:
    """What may take another name's place, MISSING where it is missing itself."""
    _declare(Private(path, use))
    return find(path)


def read_own(owner: Any, name: str) -> Any:
    """What an object holds itself under a name, past any code of its class; MISSING if nothing."""
    try:
        attributes = object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return MISSING
    return attributes.get(name, MISSING)


def attribute(
    path: str, use: str, *, instead: Callable[[Any], Any] = lambda _: None, without: str = "", late: bool = False
) -> Callable[[Any], Any]:
    """A function that reads an attribute of an object; ``instead(object)`` where that has none."""
    _declare(Private(path, use, without, late=late, of_objects=True))
    name = path.rpartition(".")[2]

    def reading(owner: Any) -> Any:
        value = read(owner, name)
        return instead(owner) if value is MISSING else value

    return reading


def own_entry(path: str, use: str, *, instead: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """As ``attribute``, but of what the object holds itself: no ``__getattr__`` or property of its class is run."""
    _declare(Private(path, use, of_objects=True))
    name = path.rpartition(".")[2]

    def reading(owner: Any) -> Any:
        value = read_own(owner, name)
        return value if value is not MISSING else instead(owner)

    return reading


def inline(path: str, use: str, *, without: str = "", needed: bool = False) -> bool:
    """Whether objects have an attribute that is read where it is needed, at every op."""
    return not _declare(Private(path, use, without, needed=needed, of_objects=True)).missing


def spelled(path: str, use: str, *, without: str = "", late: bool = False) -> str:
    """The last part of a name, by which torch's own function or class is told in a stack or a record."""
    _declare(Private(path, use, without, late=late))
    return path.rpartition(".")[2].rpartition(_SUBMODULE)[2]


def looked_up(path: str, use: str, *, without: str = "") -> Callable[[], Any]:
    """A function that looks a name up in a module that only some programs import."""
    _declare(Private(path, use, without, late=True))
    return lambda: find(path)


class Place:
    """A name of torch's that an observer puts a stand-in under."""

    def __init__(self, path: str, use: str, *, without: str, late: bool = False) -> None:
        _declare(Private(path, use, without, late=late))
        self._path = path
        self.module = path.partition(_SUBMODULE)[0]
        self.name = path.replace(_SUBMODULE, ".").rpartition(".")[2]

    def owner(self) -> Any:
        """The module or class that has the name itself, None where none does."""
        holder = find(self._path.removesuffix(self.name).rstrip("." + _SUBMODULE))
        return (
            holder if holder is not MISSING and find(self._path) is not MISSING and self.name in vars(holder) else None
        )


def check() -> None:
    """Raise UnsupportedTorch where a name is missing without which nothing can be observed."""
    gone = [name for name in TABLE.values() if name.needed and name.missing]
    if gone:
        raise UnsupportedTorch(gone)


def notes() -> Iterator[str]:
    """One sentence for each name that is missing and that nothing takes the place of."""
    for name in TABLE.values():
        if name.without and name.missing:
            yield f"torch {torch.__version__} has no {name.name}: {name.without}."


def _declare(name: Private) -> Private:
    TABLE[name.path] = name
    return name


def _refuse(*_: Any, **__: Any) -> Any:
    check()
