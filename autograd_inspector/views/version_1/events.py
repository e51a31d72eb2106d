"""What the program did to modules and optimizers: version 1 had one record for all of it, with the facts as text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_SIZES = re.compile(r"^(saved|own) groups: \[([\d, ]*)\]$")
_CAST = re.compile(r"^(.*): (\S+) -> (\S+)$", re.DOTALL)
_LEFT_TRAINING = "train_mode: True -> False"


def of_changes(capture: Any) -> dict[str, Any]:
    """The events, each of the kind that it is. Raises LookupError where one lacks what its kind needs."""
    return {"events": [_event(change) for change in capture.get("changes", [])]}


def _event(change: Any) -> dict[str, Any]:
    kind, facts = _KINDS[change["kind"]]
    return {"kind": kind, "at": change["at"], "site": change["site"], **facts(change)}


def _registered(change: Any) -> dict[str, Any]:
    owner, _, name = change["api"].rpartition(".")
    return {"type": owner, "name": name, "tensor": change["tensors"][0]}


def _attached(change: Any) -> dict[str, Any]:
    owner, _, name = change["api"].rpartition(".")
    return {"type": owner, "name": name, "path": change["detail"][0], "tensors": change["tensors"]}


def _converted(change: Any) -> dict[str, Any]:
    owner, _, method = change["api"].removesuffix("()").rpartition(".")
    return {"type": owner, "method": method, "tensors": _tensors(change)}


def _of_optimizer(change: Any) -> dict[str, Any]:
    return {"optimizer": change.get("optimizer", -1), "type": _called(change)}


def _loaded(change: Any) -> dict[str, Any]:
    details = change.get("detail", [])
    casts = [match.groups() for text in details if text != _LEFT_TRAINING and (match := _CAST.match(text))]
    return {
        **_of_optimizer(change),
        "tensors": _tensors(change),
        "casts": [{"entry": entry, "before": before, "after": after} for entry, before, after in casts],
        "left_training": _LEFT_TRAINING in details,
    }


def _refused(change: Any) -> dict[str, Any]:
    error, *sizes, state = change["detail"]
    groups = {match[1]: match[2] for match in filter(None, map(_SIZES.match, sizes))}
    counts = {name: [int(size) for size in text.split(",") if size.strip()] for name, text in groups.items()}
    return {
        **_of_optimizer(change),
        "tensors": _tensors(change),
        "error": error.removeprefix("error: "),
        "saved_groups": counts.get("saved", []),
        "own_groups": counts.get("own", []),
        "saved_state": [name for name in state.removeprefix("saved state: ").split(", ") if name],
    }


def _swapped(change: Any) -> dict[str, Any]:
    tensors = _tensors(change)
    pairs = [list(pair) for pair in zip(tensors[::2], tensors[1::2], strict=True)]
    return {**_of_optimizer(change), "pairs": pairs, "by_name": bool(change.get("detail"))}


def _statement(change: Any) -> dict[str, Any]:
    what, receiver, *keys = change["detail"]
    kind = {"assigned": "StateAssigned", "removed": "StateRemoved"}[what]
    return {"kind": kind, "receiver": receiver, "keys": keys, "optimizer": change.get("optimizer", -1)}


def _tensors(change: Any) -> Any:
    return change.get("tensors", [])


def _called(change: Any) -> str:
    """The class whose method was called, or that was."""
    return str(change["api"].removesuffix("()").removesuffix(".load_state_dict").removesuffix(".zero_grad"))


_KINDS: dict[str, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    "registered": ("ParameterRegistered", _registered),
    "attached": ("ModuleAttached", _attached),
    "wrapped": ("ParameterWrapped", lambda change: {"tensor": change["tensors"][0]}),
    "converted": ("ParametersConverted", _converted),
    "loaded": (
        "ModelLoaded",
        lambda change: {"type": _called(change), "tensors": _tensors(change), "assign": bool(change.get("detail"))},
    ),
    "plain_attribute": (
        "PlainAttributeSet",
        lambda change: {"attribute": change["api"], "tensors": _tensors(change)},
    ),
    "compared": (
        "RequiresGradCompared",
        lambda change: {"tensor": change["tensors"][0], "wanted": change["detail"][0] == "True"},
    ),
    "module_hook": (
        "ModuleHookRegistered",
        lambda change: {"type": change["detail"][0], "hook": change["detail"][1]},
    ),
    "optimizer_created": ("OptimizerCreated", lambda change: {**_of_optimizer(change), "tensors": _tensors(change)}),
    "optimizer_refused": (
        "ParametersRefused",
        lambda change: {"type": change["api"], "tensors": _tensors(change)},
    ),
    "optimizer_load_state_dict": ("StateLoaded", _loaded),
    "optimizer_load_failed": ("LoadRefused", _refused),
    "state_swapped": ("StateSwapped", _swapped),
    "state_absent": ("StateAbsent", lambda change: {**_of_optimizer(change), "tensors": _tensors(change)}),
    "zero_grad": ("ZeroGradCalled", _of_optimizer),
    "option_set": ("OptionSet", lambda change: {**_of_optimizer(change), "option": change["detail"][0]}),
    "state_line": ("StateAssigned", _statement),
}
"""Kind in version 1 -> the record that it is now, and what makes its fields."""
