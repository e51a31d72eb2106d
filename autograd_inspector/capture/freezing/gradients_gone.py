"""Gradients that compiled code cleared: a backward stored them, and a step of the same compiled call met None.

What Dynamo applies between two graphs, ``model.zero_grad()`` or ``p.grad = None``, calls nothing that could be
observed. The state before and after shows it; the source locates the line.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from autograd_inspector.capture.lines.sources import source_at
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.program_events import CompiledCalled, GradientsGone, ModuleCleared, ZeroGradCalled
from autograd_inspector.source.clearing_lines import ClearingLines


def gradients_gone(recording: Recording) -> Iterator[GradientsGone]:
    """One event a step that met none of the gradients that a backward of the same compiled call had stored for it."""
    calls = sorted((e for e in recording.events if isinstance(e, CompiledCalled)), key=lambda call: call.at)
    runs = sorted((run for run in recording.backwards if run.completed), key=lambda run: run.end) if calls else []
    told = [event.at for event in recording.events if isinstance(event, (ZeroGradCalled, ModuleCleared))]
    told = sorted([*told, *(write.at for write in recording.grad_writes if write.gradient < 0)])
    begun, ends = [call.at for call in calls], [run.end for run in runs]
    stepped: dict[int, int] = {}
    for step in recording.steps if runs else ():
        before, stepped[step.optimizer] = stepped.get(step.optimizer, -1), step.at
        last = bisect_right(ends, step.at)
        run = runs[last - 1] if last else None
        if run is None or run.start <= before or not _lost(run, step):
            continue
        call, following = bisect_right(begun, run.start), bisect_left(told, run.end)
        within = call > 0 and step.at <= calls[call - 1].until
        if within and (following == len(told) or told[following] > step.at):
            site = _cleared_at(recording, run, step)
            yield GradientsGone(step.at, run.site if site < 0 else site, tuple(p.tensor for p in step.parameters))


def _lost(run: Backward, step: Step) -> bool:
    """Whether a step met no gradients at all, and a backward had stored some of them."""
    if step.error or any(p.gradient >= 0 for p in step.parameters):
        return False
    return bool(step.held & {*run.reached}.difference(run.empty, run.taken))


def _cleared_at(recording: Recording, run: Backward, step: Step) -> int:
    """The last line that clears between the two in the function of the backward; -1 where there is none."""
    stacks = recording.stacks
    codes = [code for code, _, library in stacks.chains[run.site] if not library] if run.site >= 0 else []
    (file, first), (step_file, last) = stacks.line_of(run.site), stacks.line_of(step.site)
    source = source_at(file) if codes and file == step_file else None
    if source is None:
        return -1
    between = source.index(ClearingLines).within(source.scope_at(first), first, last)
    return stacks.of_code(codes[0], between[-1]) if between else -1
