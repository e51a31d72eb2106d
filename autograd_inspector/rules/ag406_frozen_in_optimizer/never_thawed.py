"""AG406: parameters that stay frozen in an optimizer, although something speaks for it that they were to learn."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.parameter_origins import frozen_here
from autograd_inspector.analysis.optimizers.set_aside import SetAside, set_aside
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names

_THAW = (
    "To train {them}, call requires_grad_(True) on {them} before the steps; otherwise remove {them} from the optimizer."
)
_LIBRARY = (
    "To train some of them, call requires_grad_(True) on those afterwards (with PEFT: list a new head in modules_to_save, "
    "or pass the task_type); otherwise remove them from the optimizer."
)
_REMOVED = (
    "To train {them}, call requires_grad_(True) on {them} behind the call that removes the adapters; otherwise give the "
    "optimizer only the parameters that require grad."
)


def never_thawed(analysis: Analysis, reported_names: Collection[str]) -> Iterator[Problem]:
    """A hint, for healthy programs freeze a part of what their optimizer holds as well."""
    for found in set_aside(analysis):
        names = [name_of(analysis, tensor) for tensor in found.tensors]
        if reported_names and set(names) <= set(reported_names):
            continue
        them = agree(names, "it", "them")
        removed = None if found.adapters is None else found.adapters.removed
        fix = {"library": _LIBRARY, "adapters": _REMOVED}.get(found.reason, _THAW)
        yield Problem(
            "info" if removed is None else "warning",
            f"{summarize_names(names)} {agree(names, 'does', 'do')} not require grad at any step of "
            f"{found.optimizer.type}, which holds {them} but never updates {them}: {_why(found, them)}",
            fix.format(them=them),
            (
                *analysis.places((removed, "adapters removed here")),
                *frozen_here(analysis, found.tensors),
                *analysis.places(
                    (found.thawed, "unfrozen here in the other model"),
                    (found.optimizer, "passed to the optimizer here"),
                ),
            ),
            (*names, *(("requires_grad",) if removed is not None else ())),
        )


def _why(found: SetAside, them: str) -> str:
    """What speaks for it that they were to learn."""
    kind = found.optimizer.type
    return {
        "since": f"{'it' if them == 'it' else 'they'} still required grad when {kind} was built",
        "state": f"the state loaded into {kind} has entries for {them}, from steps that updated {them}",
        "twin": f"the line that freezes {them} also froze the same part of another model, which was unfrozen later",
        "adapters": f"a library froze {them} for the sake of adapters, which were trained and have left the model since",
        "library": f"a library froze {them}, not your code",
    }[found.reason]
