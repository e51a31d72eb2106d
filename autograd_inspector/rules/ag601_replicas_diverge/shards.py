"""AG601 where ``fully_shard`` was told not to reduce, and the shards get no gradient."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import ShardSyncSet
from autograd_inspector.model.wording import agree, summarize_names


def unsynced_shards(analysis: Analysis) -> Iterator[Problem]:
    """One finding, about the first step that finds shards without a gradient behind a backward that did not reduce."""
    shards = {tensor for event in analysis.reductions.sharded_models for tensor in event.tensors}
    switches = analysis.capture.events_of(ShardSyncSet) if shards else ()
    for step in analysis.capture.steps if switches else ():
        held = [p.tensor for p in step.parameters if p.tensor in shards]
        empty = [p.tensor for p in step.parameters if p.tensor in shards and p.gradient < 0 and not p.frozen]
        run = next(iter(analysis.timeline.backwards.before(step.updates_from + 1)), None)
        if not held or run is None:
            continue
        last = _off(switches, run.start, all_empty=len(empty) == len(held))
        if last is None:
            continue
        names = names_of(analysis, empty if len(empty) == len(held) else held)
        whose = f"of {summarize_names(names)}"
        how = "in a no_sync() block" if last.flat else f"with {last.method}(False)"
        what = (
            f"step() finds no {agree(names, 'gradient', 'gradients')} {whose}: the last backward() before it ran {how}, "
            f"so {agree(names, 'its gradient stays', 'their gradients stay')} "
            f"{'unreduced between the replicas' if last.replicas else 'unreduced in the unsharded parameters'}"
            if len(empty) == len(held)
            else f"step() uses only a part of the {agree(names, 'gradient', 'gradients')} {whose}: the last backward() before it "
            f"ran {how}, so what it computed stays unreduced, and is added to the next step"
        )
        if last.flat:
            what = (
                f"the last backward() before step() ran {how} of {last.type}, so the {agree(names, 'gradient', 'gradients')} {whose} "
                f"{agree(names, 'is', 'are')} not reduced, and not cut into the shards that step() updates"
            )
        yield _problem(analysis, last, names, what, run.site, step)
        return


def _off(switches: Sequence[ShardSyncSet], moment: int, *, all_empty: bool) -> ShardSyncSet | None:
    """What keeps a backward from reducing; between replicas, of which there may be none, only if no shard has a gradient."""
    for replicas in (False, True):
        last = next((e for e in reversed(switches) if e.at <= moment and e.replicas is replicas), None)
        if last is not None and not last.on and (all_empty or not replicas):
            return last
    return None


def _problem(analysis: Analysis, off: ShardSyncSet, names: list[str], what: str, run: int, step: Step) -> Problem:
    return Problem(
        "error",
        what,
        "Run the forward and backward pass of the last micro-batch before each step outside no_sync(): its backward pass "
        "reduces the accumulated gradients."
        if off.flat
        else f"Call `{off.method}(True)` before the forward of the last micro-batch of each step: its backward pass "
        "reduces the accumulated gradients.",
        analysis.places(
            (off, "reduction switched off here"), (run, "backward() called here"), (step, "step() called here")
        ),
        tuple(names),
        ops=(step.op,),
    )
