"""AG704: a loss scale that keeps falling."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.torch_names import UPDATE_SCALE

_FEWEST = 8
_FALLEN = 256
"""The scale starts at 65,536, and finds its place within a few updates."""
_SHARE = 0.5


def check(analysis: Analysis) -> Iterator[Problem]:
    """The scale of a GradScaler keeps falling, and most steps are skipped. Needs `values=True`.

    Why it matters
        The scaler skips a step if its gradients contain Inf or NaN, and halves its scale. If this continues, the
        gradients are not finite at any scale: the forward pass or the loss is the cause, and nothing is trained.

    Example
        ::

            scaler = torch.amp.GradScaler("cpu")
            for _ in range(12):
                optimizer.zero_grad()
                scaler.scale((net(x) * 0).log().sum()).backward()
                scaler.step(optimizer)
                scaler.update()

    Fix
        ::

            scaler = torch.amp.GradScaler("cpu")
            for _ in range(12):
                optimizer.zero_grad()
                scaler.scale(net(x).pow(2).mean()).backward()
                scaler.step(optimizer)
                scaler.update()

    References
        "Automatic Mixed Precision package - torch.amp", section "Gradient Scaling".
    """
    scale = analysis.capture.vitals.scale
    updates = scale.updates[-1] if scale.updates else 0
    if updates < _FEWEST or scale.skipped < _SHARE * updates or scale.values[-1] * _FALLEN > max(scale.values):
        return
    update = next((op for op in reversed(analysis.capture.ops) if op.name == UPDATE_SCALE), None)
    yield Problem(
        "warning",
        f"the loss scale fell from {max(scale.values):g} to {scale.values[-1]:g}: {scale.skipped:,} of {updates:,} steps "
        "were skipped, because their gradients contained Inf or NaN",
        "Find the source of the Inf or NaN (rule AG304 names the op if an op produced it): a smaller scale does not help.",
        () if update is None else analysis.user_frames(update.site, "scale updated here"),
        ("loss scale",),
        ops=() if update is None else (update.index,),
    )
