"""What follows from updating a leaf by hand: it keeps its gradient, to which the next backward adds."""

from __future__ import annotations

from autograd_inspector.advice.spelling import is_path


def and_cleared(name: str) -> str:
    """The end of the advice to update that leaf in place, for a program whose clearing is not known."""
    cleared = f"`{name}.grad = None`" if is_path(name) else "`.grad = None`"
    return f"clear its gradient before the next backward() if nothing else does: {cleared}"
