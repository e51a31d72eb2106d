"""What a node itself says of a tensor that it saved: good, modified, freed, not needed."""

from __future__ import annotations

import re
from typing import Any

from autograd_inspector.capture.torch_private.dispatch import Refused, openly, refusing
from autograd_inspector.capture.torch_private.graph import UNPACKED, in_training
from autograd_inspector.interrupts import is_interrupt
from autograd_inspector.messages import message_of
from autograd_inspector.model.autograd import SavedStatus, SavedTensor

STATISTICS = frozenset({"running_mean", "running_var"})
"""Saved tensors that a node may not need."""
_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")


def verify(node: Any, name: str, *, plain: bool = False) -> tuple[SavedStatus, str, int | None]:
    """Autograd's own verdict on one saved tensor: (status, its message, the version it expected).

    ``plain``: no code of the program's could run in giving it.
    """
    attribute = name.split("[", maxsplit=1)[0]
    try:
        if plain and attribute != "tensors":
            openly(getattr, node, f"{UNPACKED}{attribute}")
        else:
            refusing(getattr, node, "saved_tensors" if attribute == "tensors" else f"{UNPACKED}{attribute}")
    except Refused:
        return "valid", "", None  # Autograd has checked, and would go on to ask a wrapper for a copy of itself.
    except RuntimeError as error:
        if is_interrupt(error):
            raise
        text = message_of(error)
        versions = _VERSIONS.search(text)
        if versions is not None:
            return "modified", text, int(versions.group(2))
        return ("freed", text, None) if "freed" in text else ("unverifiable", text, None)
    except AttributeError:
        return "unverifiable", "", None
    return "valid", "", None


def tells_of(verdict: str, version: int | None) -> bool:
    """Whether what autograd says is about a tensor that is at that version now."""
    versions = _VERSIONS.search(verdict)
    return versions is None or version is None or int(versions.group(1)) == version


def freed(name: str) -> SavedTensor:
    """What is left of a saved tensor after a backward: asked for only where no op of the capture made the node."""
    return SavedTensor(name, -1, (), "", "", 0, -1, 0, 0, "freed")


def unused(node: Any, name: str) -> bool:
    """A batch norm in training mode saves its running statistics but differentiates through the batch's own."""
    return name in STATISTICS and bool(in_training(node))
