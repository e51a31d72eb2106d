"""Where in a loaded checkpoint the state_dicts of models and optimizers are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor

Path = tuple[str | int, ...]

_MODEL_KEYS = (
    "model_state_dict",
    "state_dict",
    "model",
    "model_state",
    "module",
    "net",
    "network",
    "weights",
    "params",
)
_OPTIMIZER_KEYS = ("optimizer_state_dict", "optimizer", "optim", "optimizer_states", "optimizers", "opt")
_NO_MODELS = {
    "callbacks",
    "loops",
    "hyper_parameters",
    "lr_schedulers",
    "lr_scheduler",
    "scheduler",
    "scaler",
    "grad_scaler",
    "rng",
    "rng_state",
    "random_states",
}
"""What trainers put beside a model, and what may hold a tensor here and there."""
_DEEPEST = 3


class Layout:
    """The state_dicts of a checkpoint, each with the keys that lead to it, likeliest first; and the other keys."""

    def __init__(self, root: Any) -> None:
        self.models: list[tuple[Path, Mapping[str, Any]]] = []
        self.optimizers: list[tuple[Path, Mapping[str, Any]]] = []
        for path, kind, state_dict in _search(root, (), 0):
            (self.models if kind == "model" else self.optimizers).append((path, state_dict))
        self.models.sort(key=lambda pair: _rank(pair[0], _MODEL_KEYS))
        self.optimizers.sort(key=lambda pair: _rank(pair[0], _OPTIMIZER_KEYS))
        used = {path[0] for path, _ in (*self.models, *self.optimizers) if path}
        whole = any(not path for path, _ in (*self.models, *self.optimizers))
        self.others = [] if whole or not isinstance(root, Mapping) else [str(key) for key in root if key not in used]


def plain_key(key: str | int) -> str | int:
    """The key as a report can hold it: no bool, and no number beyond any position."""
    return key if type(key) in {str, int} and not (isinstance(key, int) and abs(key) > _FARTHEST) else str(key)


_FARTHEST = 2**63


def is_optimizer(value: Any) -> bool:
    """Whether it looks like ``optimizer.state_dict()``."""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("state"), Mapping)
        and isinstance(value.get("param_groups"), (list, tuple))
    )


def is_model(value: Any) -> bool:
    """Whether it looks like ``model.state_dict()``: names, most of them of tensors."""
    if not isinstance(value, Mapping) or not value or not all(isinstance(key, str) for key in value):
        return False
    if any(isinstance(entry, Mapping) and not key.endswith("_extra_state") for key, entry in value.items()):
        return False
    tensors = sum(isinstance(entry, Tensor) for entry in value.values())
    return tensors > 0 and tensors * 2 >= len(value)


def _search(value: Any, path: Path, depth: int) -> Iterator[tuple[Path, str, Mapping[str, Any]]]:
    if is_optimizer(value):
        yield path, "optimizer", value
    elif is_model(value):
        yield path, "model", value
    elif depth < _DEEPEST and isinstance(value, Mapping):
        for key, entry in value.items():
            if isinstance(key, (str, int)) and key not in _NO_MODELS:
                yield from _search(entry, (*path, plain_key(key)), depth + 1)
    elif depth < _DEEPEST and isinstance(value, (list, tuple)) and len(value) <= _FEW:
        for place, entry in enumerate(value):
            yield from _search(entry, (*path, place), depth + 1)


_FEW = 64


def _rank(path: Path, likely: tuple[str, ...]) -> tuple[int, int]:
    ranks = [likely.index(key) for key in path if isinstance(key, str) and key in likely]
    return (len(path), min(ranks)) if ranks else (len(path), len(likely))
