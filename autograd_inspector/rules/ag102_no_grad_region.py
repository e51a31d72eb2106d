"""AG102: computed while grad mode was off."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.cut_problems import caused_by
from autograd_inspector.advice.grad_mode_problems import region_problem
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.finding import Problem


def check(analysis: Analysis) -> Iterator[Problem]:
    """Computed while grad mode was off: a `no_grad` block, a decorator, or a mode that leaked.

    Why it matters
        Under `torch.no_grad()` or `torch.set_grad_enabled(False)` nothing is recorded. Called as a function,
        `set_grad_enabled(False)` stays in force after the helper that called it has returned.

    Example
        ::

            with torch.no_grad():
                features = encoder(x)
            head(features).pow(2).mean().backward()
            optimizer.step()

    Fix
        ::

            features = encoder(x)
            head(features).pow(2).mean().backward()
            optimizer.step()

    References
        torch.no_grad, torch.set_grad_enabled; "Locally disabling gradient computation" in the PyTorch documentation.
    """
    for cut in caused_by(analysis, "no_grad"):
        region = analysis.capture.regions[cut.ops[0].region]
        if region.library:
            continue  # torch's own no_grad (initialisation, conversion; checkpointing, which AG106 judges).
        yield region_problem(analysis, cut, region)
