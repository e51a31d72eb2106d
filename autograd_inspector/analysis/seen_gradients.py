"""Which tensors were the gradients of which."""

from __future__ import annotations

from autograd_inspector.model.capture import Capture


def gradients_of(capture: Capture) -> dict[int, frozenset[int]]:
    """Tensor -> the tensors that were seen as its ``.grad``."""
    seen: dict[int, set[int]] = {}
    pairs = [(read.tensor, read.gradient) for read in capture.grad_reads]
    pairs += [(write.tensor, write.gradient) for write in capture.grad_writes]
    pairs += [(p.tensor, p.gradient) for step in capture.steps for p in step.parameters]
    for tensor, gradient in pairs:
        if gradient >= 0:
            seen.setdefault(tensor, set()).add(gradient)
    return {tensor: frozenset(gradients) for tensor, gradients in seen.items()}
