"""A folded recording as it stands, numbered from 0 in a copy, while the program goes on with the old numbers."""

from __future__ import annotations

from copy import copy
from typing import Any

from autograd_inspector.capture.observers.modules.calls import Modules
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.retention.renumbering import settle
from autograd_inspector.model.steps_history import History

_WINDOWS = ("ops", "calls", "regions", "backwards")
_LISTS = (
    "steps",
    "grad_reads",
    "grad_writes",
    "tensor_hooks",
    "requires_grad_changes",
    "events",
    "replacements",
)
_VALUES = ("faults", "gradient_faults", "leaves")


def settled_copy(recording: Recording, modules: Modules, history: History) -> tuple[Recording, Modules, History]:
    """Copies of what numbering anew writes to; records are frozen, and shared.

    Tensors that are met while the copy is frozen are none of the recording's: it does not number them.
    """
    recording.ledger.update(recording)
    copied = copy(recording)
    for name in _WINDOWS:
        setattr(copied, name, getattr(recording, name).copied())
    for name in _LISTS:
        setattr(copied, name, list(getattr(recording, name)))
    for part in ("recorded", "kept", "state_owners", "ledger", "values"):
        setattr(copied, part, copy(getattr(recording, part)))
    copied.recorded.nodes = recording.recorded.nodes.copied()
    values: Any = copied.values
    for name in _VALUES if values is not None else ():
        setattr(values, name, list(getattr(values, name)))
    copied.registry = recording.registry.copied()
    copied.vitals = None
    own = copy(modules)
    own.recording = copied
    own.roots = {number: copy(root) for number, root in modules.roots.items()}
    return copied, own, settle(copied, own, history)
