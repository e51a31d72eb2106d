"""Hooks that the program registers again in each round, and never removes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autograd_inspector.advice.names import short_name
from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.left_out import made_once
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import TensorHook
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Trait
from autograd_inspector.model.wording import agree, summarize_names


def hooks_piled_up(analysis: Analysis) -> Mapping[int, dict[int, tuple[TensorHook, Backward]]]:
    """Site -> leaf -> (a hook that was registered once more, a backward in which each changed what the other made)."""
    hooks_by_site: dict[int, dict[int, tuple[TensorHook, Backward]]] = {}
    for hook in analysis.capture.tensor_hooks:
        if hook.again and not hook.post:
            runs = [r for r in analysis.capture.backwards if hook.tensor in r.reached]
            before = any(run.end <= hook.at for run in runs) or analysis.capture.history.folded
            run = next((r for r in runs if r.start >= hook.at and _compounds(analysis, hook, r)), None)
            if before and run is not None:
                hooks_by_site.setdefault(hook.site, {})[hook.tensor] = hook, run
    return hooks_by_site


def piled_up(analysis: Analysis) -> Iterator[Problem]:
    """The same hook several times on one leaf: each is given what the one before it made of the gradient."""
    for site, hook_runs in hooks_piled_up(analysis).items():
        names = [name_of(analysis, tensor) for tensor in hook_runs]
        hook, run = max(hook_runs.values(), key=lambda pair: pair[0].again)
        name, times = short_name(hook.name), hook.again + 1
        yield Problem(
            "warning",
            f"the hook {name} is registered again in each iteration and never removed: {summarize_names(names)} "
            f"{agree(names, 'has', 'have')} it {times} times, and one backward() applies it {times} times to "
            "the same gradient",
            "Register it once, before the loop; or keep what register_hook() returns and call its remove() after the "
            "backward.",
            analysis.places((site, "registered again here"), (run, "backward called here")),
            (*dict.fromkeys(names), name),
            cures=tuple(made_once(analysis, site)),
        )


def _compounds(analysis: Analysis, hook: TensorHook, run: Backward) -> bool:
    """Whether an op of the hook was given what the same op had made before: hooks that only look do not do that."""
    above: dict[int, set[int]] = {}
    for op in analysis.capture.ops[run.start : run.end]:
        if op.has(Trait.BACKWARD) and any(_is_of(hook, place.function) for place in analysis.capture.site(op.site)):
            sites = set[int]().union(*(above.get(tensor, ()) for tensor in op.inputs))
            if op.site in sites:
                return True
            above.update(dict.fromkeys(op.outputs, sites | {op.site}))
    return False


def _is_of(hook: TensorHook, function: str) -> bool:
    """Whether a function is the hook, or the one that an object is called by."""
    return function == hook.name or short_name(function) == f"{short_name(hook.name)}.__call__"
