"""What stands in for a function that cannot have a probe inside: one written in C, or whose source is not at hand.

A module that is imported inside a block may take it by ``from torch import ...`` and hold it for good. So there is one
for each function, and it tells the probe of whatever capture is open: none at all, when none is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ClassMethodDescriptorType
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from autograd_inspector.capture.undisturbed.instrumented import Probe

_KNOWN: WeakValueDictionary[int, Callable[..., Any]] = WeakValueDictionary()
"""Id of what is stood in for -> what does, as long as anybody has it: so long it keeps the other one alive."""
_PROBES: WeakKeyDictionary[Callable[..., Any], list[Probe]] = WeakKeyDictionary()
"""Whom each tells of a call, if anybody."""
_LASTING: list[Callable[..., Any]] = []
"""Those of torch's own functions, which no program makes: the next capture puts them in place again."""
_MOST_LASTING = 256


def stand_in_for(held: Any) -> tuple[Any, list[Probe]]:
    """What to put in the place of an attribute of a module or a class, and the list for its probe."""
    if held in _PROBES:  # The program had saved one of ours, and put it back.
        return held, _PROBES[held]
    stand_in = _KNOWN.get(id(held))
    if stand_in is None:
        probes: list[Probe] = []
        stand_in = _made(held, probes)
        _PROBES[stand_in], _KNOWN[id(held)] = probes, stand_in
        if str(getattr(held, "__module__", "")).startswith("torch.") and len(_LASTING) < _MOST_LASTING:
            _LASTING.append(stand_in)
    if _is_of_class(held):
        return classmethod(stand_in), _PROBES[stand_in]
    return staticmethod(stand_in) if isinstance(held, staticmethod) else stand_in, _PROBES[stand_in]


def _is_of_class(held: Any) -> bool:
    return isinstance(held, (classmethod, ClassMethodDescriptorType))


def _made(held: Any, probes: list[Probe]) -> Callable[..., Any]:
    of_class = _is_of_class(held)

    @functools.wraps(getattr(held, "__func__", held))
    def stand_in(*args: Any, **kwargs: Any) -> Any:
        call, arguments = (held.__get__(None, args[0]), args[1:]) if of_class else (held, args)
        probe = next(iter(probes), None)
        if probe is None:
            return call(*arguments, **kwargs)
        seen: list[Any] = []
        try:
            probe.before(seen, *args, **kwargs)
            return probe.after(seen, call(*arguments, **kwargs))
        except BaseException as error:
            try:
                probe.failed(seen, error)
            except BaseException:
                probe.failed(seen, error)
                raise
            raise

    return stand_in


STANDING_IN = _made(id, []).__code__
"""The code of all of them."""
