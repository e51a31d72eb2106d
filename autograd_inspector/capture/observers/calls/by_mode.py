"""Functions that are told whether something is being trained, and compute otherwise where nothing is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from types import FrameType
from typing import Any

import torch
from torch.nn import functional as F

from autograd_inspector.capture.lines.kinds import Kinds
from autograd_inspector.capture.lines.passed import Passed
from autograd_inspector.model.op import Trait

_EVALUATES, _DRAWS, _UNTOLD = int(Trait.EVALUATES), int(Trait.DRAWS), int(Trait.UNTOLD)
_NUMBERS = Kinds(float, int)
_FUNCTIONAL = ("dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d", "dropout3d")
_NATIVE = ("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout")
_RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def _found(owner: Any, names: Iterable[str]) -> list[Any]:
    return [getattr(owner, name) for name in names if hasattr(owner, name)]


def _overloads() -> Iterator[Any]:
    """As a graph that torch.export has captured calls them. torch makes each where it is first asked for."""
    for packet in _found(torch.ops.aten, _NATIVE):
        with suppress(AttributeError, NameError):
            yield packet.default


DROPOUTS = frozenset([*_found(F, _FUNCTIONAL), *_found(torch, _NATIVE), *_overloads()])
"""Each takes (input, p, training)."""
RECURRENT = frozenset(_found(torch, _RECURRENT))
"""Each takes ``dropout`` and ``train`` side by side, behind arguments of which there are more for packed sequences."""


def of_dropout(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """The trait of a dropout: whether it drops something, or nothing because of the mode, not because p is 0."""
    p = args[1] if len(args) > 1 else kwargs.get("p", 0.5)
    training = args[2] if len(args) > 2 else kwargs.get("training", kwargs.get("train", True))  # noqa: PLR2004
    if type(p) not in _NUMBERS or p <= 0:
        return 0
    return _EVALUATES if training is False else _DRAWS if training is True else 0


def told(func: Any, traits: int, passed: Passed, frame: FrameType) -> int:
    """The traits of a dropout with the one of a call that drew and passed no ``training``.

    The function itself hands its defaults on, so that the call in the frame outside of it has to tell.
    """
    code = getattr(func, "__code__", None)
    if not traits & _DRAWS or code is None or passed.passes(code, frame, "training", 2):
        return traits
    return traits | _UNTOLD


def of_attention(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """The traits of scaled_dot_product_attention: it knows no mode, and drops with the probability that it is given."""
    p = args[4] if len(args) > 4 else kwargs.get("dropout_p", 0.0)  # noqa: PLR2004
    return _DRAWS | _UNTOLD if type(p) in _NUMBERS and p > 0 else 0


def of_recurrent(args: tuple[Any, ...], _kwargs: dict[str, Any]) -> int:
    """The trait of a recurrent layer, which may drop something between its layers."""
    pair = next(((p, train) for p, train in pairwise(args) if type(p) is float and type(train) is bool), (0.0, True))
    if pair[0] <= 0:
        return 0
    return _DRAWS if pair[1] else _EVALUATES


def of_norm(arguments: dict[str, Any], *, training: Any) -> int:
    """The trait of a norm: whether it takes the running statistics."""
    return _EVALUATES if training is False and isinstance(arguments.get("running_mean"), torch.Tensor) else 0
