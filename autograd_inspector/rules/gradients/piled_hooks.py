"""Hooks that the program registers again in each round, and never removes."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import TensorHook
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.op import Trait
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.wording.names import folded, short_name
from autograd_inspector.rules.wording.places import unique


def piled_up(facts: Facts) -> Iterator[Finding]:
    """The same hook several times on one leaf: each is given what the one before it made of the gradient."""
    told: dict[int, dict[int, tuple[TensorHook, Backward]]] = {}
    for hook in facts.capture.tensor_hooks:
        if hook.again and not hook.post:
            runs = [r for r in facts.capture.backwards if hook.tensor in r.reached]
            before = any(run.end <= hook.at for run in runs) or facts.capture.history.folded
            run = next((r for r in runs if r.start >= hook.at and _compounds(facts, hook, r)), None)
            if before and run is not None:
                told.setdefault(hook.site, {})[hook.tensor] = hook, run
    for site, found in told.items():
        names = [facts.name(tensor) for tensor in found]
        hook, run = max(found.values(), key=lambda pair: pair[0].again)
        name, times = short_name(hook.name), hook.again + 1
        yield Finding(
            "AG306",
            "gradient-rewritten",
            "warning",
            f"the hook {name} is registered again in each round and stays: {folded(names)} "
            f"{'have' if len(names) > 1 else 'has'} it {times} times, and one backward() applies it {times} times to "
            "the same gradient",
            "Register it once, before the loop; or keep what register_hook() returns and call its remove() after the "
            "backward.",
            unique([*facts.chain(site, "registered again here"), *facts.chain(run.site, "backward called here")]),
            (*dict.fromkeys(names), name),
        )


def _compounds(facts: Facts, hook: TensorHook, run: Backward) -> bool:
    """Whether an op of the hook was given what the same op had made before: hooks that only look do not do that."""
    above: dict[int, set[int]] = {}
    for op in facts.capture.ops[run.start : run.end]:
        if op.has(Trait.BACKWARD) and any(place.function == hook.name for place in facts.capture.site(op.site)):
            sites = set[int]().union(*(above.get(tensor, ()) for tensor in op.inputs))
            if op.site in sites:
                return True
            above.update(dict.fromkeys(op.outputs, sites | {op.site}))
    return False
